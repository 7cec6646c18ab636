import { testCosts } from './support/cost-cases';

jest.setTimeout(300_000);

testCosts({ waiting: 100_000, keys: 10_000, behindFailed: 100, scheduled: 1_000_000 });
