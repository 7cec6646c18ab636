// A door of its own: whoever runs no command line needs no nest-commander.
export { DeliveriesCommandModule, type DeliveriesCommandOptions } from './deliveries-command.module';
export { exitAfterUsage, reportFailure } from './exit';
export { runCommands } from './run-commands';
