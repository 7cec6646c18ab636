// Preloaded into a process (`node --require`), it lets that process believe another time: `setClock(ms)` says which, and the clock goes
// on from there. Timers and `performance.now()` are not touched, as no clock that is set touches them.
let ahead = 0;
const Real = Date;
const now = () => Real.now() + ahead;

globalThis.setClock = (ms) => {
  ahead = ms - Real.now();
};
globalThis.Date = new Proxy(Real, {
  construct: (target, given, newTarget) => Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  apply: () => new Real(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
