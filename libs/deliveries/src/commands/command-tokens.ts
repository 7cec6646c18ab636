export const commandDataSourceToken = Symbol('nest-deliveries commands: data source');
/** Of the name of the `DeliveriesModule` that the commands work with, undefined for the one without. */
export const commandModuleToken = Symbol('nest-deliveries commands: module');
export const commandSchemaToken = Symbol('nest-deliveries commands: schema');
