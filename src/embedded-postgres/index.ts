export { startEmbeddedPostgres } from './start-embedded-postgres';
export type { EmbeddedPostgres, EmbeddedPostgresOptions } from './options';
export { EmbeddedPostgresError } from './unavailable';
