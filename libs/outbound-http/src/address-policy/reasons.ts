/** Why an address is refused. Names are stable: they reach attempt records, metrics and runbooks. */
export type AddressReason =
  | 'not-an-address'
  | 'zone-id'
  | 'denied-by-operator'
  | 'unspecified'
  | 'this-network'
  | 'loopback'
  | 'private'
  | 'shared'
  | 'link-local'
  | 'site-local'
  | 'unique-local'
  | 'cloud-host-agent'
  | 'protocol-assignments'
  | 'dummy'
  | 'discard'
  | 'documentation'
  | 'benchmarking'
  | 'multicast'
  | 'broadcast'
  | 'reserved'
  | 'ipv4-compatible'
  | 'ipv4-mapped'
  | 'ipv4-translated'
  | 'nat64'
  | 'nat64-local'
  | 'nat64-discovery'
  | 'teredo'
  | '6to4'
  | '6to4-relay'
  | 'orchid'
  | 'srv6-sids'
  | 'anycast'
  | 'as112'
  | 'amt'
  | 'drone-ids';

/** Why a destination's text is refused before any address is known. */
export type UrlReason =
  | 'not-https'
  | 'malformed'
  | 'too-long'
  | 'forbidden-character'
  | 'fragment'
  | 'credentials'
  | 'port'
  | 'host-not-canonical'
  | 'trailing-dot'
  | 'single-label'
  | 'localhost'
  | 'name-not-valid';

/** Why a destination is refused although its text was fine: found out while resolving or connecting. */
export type SendReason = 'too-many-addresses' | 'unchecked-remote-address';

/** Every reason a `refused` result or a verdict can carry. */
export type RefusalReason = AddressReason | UrlReason | SendReason;

/** A yes, or a no with its name: never a bare boolean, so that operators and tests can tell rules apart. */
export type Verdict = { allowed: true } | { allowed: false; reason: AddressReason | UrlReason };
