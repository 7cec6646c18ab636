export const commandDataSourceToken = Symbol('nest-deliveries commands: data source');
export const commandSchemaToken = Symbol('nest-deliveries commands: schema');
