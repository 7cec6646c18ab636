// Set up
export { DeliveriesTestingModule } from './deliveries-testing.module';

// Play and look
export { DeliveriesTester, type DrainOptions, type PlayedAttempt, type SettledOptions } from './deliveries-tester';
export { TestClock } from './test-clock';
export type { TestedDelivery } from './tested-delivery';
export type { Match } from './matches';

// Receive
export { startReceiver, type ReceiverOptions, type ScriptedReceiver } from './receiver/scripted-receiver';
export type { ReceivedRequest } from './receiver/received-request';
export type { Answer, AnswerScript } from './receiver/answer';

// Test a channel
export { channelContract, type ContractCase } from './contract/channel-contract';
export { contractRules, type ContractRule } from './contract/contract-rules';
export type { ChannelSubject } from './contract/subject';
export { httpReceiver, type ContractReceiver } from './contract/contract-receiver';

// Errors
export { ChannelContractError, EndlessDrainError, NotReceivedError, NotSettledError } from './errors';
