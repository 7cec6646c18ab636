/**
 * Rows of an alias that another relation names by id, in SQL: `d.id = x.id` in words that leave the planner one way, a look into the
 * primary key for each id.
 *
 * A table that was analyzed when it was empty counts as one row, and to read its whole primary key is then as good as a look into
 * it. Plans are kept, and a claim walked over 50,000 finished deliveries for each that it took. An equality alone can be
 * merged by order or hashed, so that reading all in order is a way; this one cannot.
 */
export const byId = (alias: string, id: string): string => `${alias}.id = ANY (ARRAY[${id}])`;
