// What the providers of one `DeliveriesModule` are given by its host. Each module has its own, so these need no name.

/** Of the `ResolvedOptions`. */
export const optionsToken = Symbol('nest-deliveries options');
/** Of the TypeORM `DataSource`. */
export const dataSourceToken = Symbol('nest-deliveries data source');
/** Of Nest's `SchedulerRegistry`. */
export const schedulerToken = Symbol('nest-deliveries scheduler registry');
