/**
 * True, and as a side effect the transaction commits without waiting for its log to reach the disk.
 *
 * A claim that a crash of the server forgets is a claim that was not made: its token is unknown then, so what its attempt
 * reports is dropped, and the delivery is sent again, as after any crash. An outcome is written with a wait, and the log is in
 * order, so whatever was settled had its claim on disk as well. Ordered deliveries are claimed with a wait: a second send of one
 * could pass a later one of its key.
 *
 * An uncorrelated subquery is run once for the statement.
 */
export const unsynced = `(SELECT set_config('synchronous_commit', 'off', true)) = 'off'`;
