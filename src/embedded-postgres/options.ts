/** What `startEmbeddedPostgres` takes. */
export interface EmbeddedPostgresOptions {
  /**
   * Folder that keeps the data between runs; created when it is missing. The cluster lies in `data/` inside, the log in
   * `server.log`. Default: none, which means a temporary folder that goes away with the server.
   */
  directory?: string;
  /** TCP port on 127.0.0.1. Default: a free one between 20000 and 31999, chosen again when somebody else takes it first. */
  port?: number;
  /**
   * Server settings by name, as in postgresql.conf, e.g. `{ max_connections: '300', fsync: 'on' }`. They override the
   * defaults: with `directory` PostgreSQL's own durability, without it fsync, synchronous_commit and full_page_writes off.
   */
  settings?: Readonly<Record<string, string>>;
  /** Database that `url` names; created when it is missing. Default: `postgres`. */
  database?: string;
}

/** A running server, ours or the one that was attached to. Only 127.0.0.1 reaches it, as `postgres`, without a password. */
export interface EmbeddedPostgres {
  /** `postgres://postgres@127.0.0.1:<port>/<database>` */
  readonly url: string;
  readonly port: number;
  /** True when another process had already started the server of this folder; it then stays the owner. */
  readonly attached: boolean;
  /** Absolute path of the cluster; below the system's temporary folder when the asked-for one was out of reach (root, 0700). */
  readonly dataDirectory: string;
  /** Ends the server and removes what is temporary. Attached: leaves the server running. May be called twice. */
  stop(): Promise<void>;
  /**
   * For fault tests: `fast` rolls back and disconnects, `immediate` is a crash with recovery at the next start. A crash forgets
   * the last commits of a server without a `directory`, unless `settings` turns synchronous_commit on.
   */
  stopServer(how: 'fast' | 'immediate'): Promise<void>;
  /** For fault tests: starts the server again on the same port and folder. */
  startServer(): Promise<void>;
}
