import { testCosts } from './support/cost-cases';

testCosts({ waiting: 10_000, keys: 1_000, behindFailed: 5, scheduled: 50_000 });
