import { reachable, refused, translated, unicast, type Block } from './block';

/**
 * IPv6: every row of the IANA IPv6 Special-Purpose Address Registry as of 2025-10-09, then the IANA IPv6 Address
 * Space, of which 2000::/3 alone is global unicast. The longest prefix that holds an address decides.
 */
export const ipv6Table: readonly Block[] = [
  refused('::1/128', 'Loopback Address', 'RFC 4291', '2006-02', 'loopback'),
  // Linux connects this one to the loopback interface.
  refused('::/128', 'Unspecified Address', 'RFC 4291', '2006-02', 'unspecified'),
  translated('::ffff:0:0/96', 'IPv4-mapped Address', 'RFC 4291', '2006-02', 'ipv4-mapped'),
  translated('64:ff9b::/96', 'IPv4-IPv6 Translation', 'RFC 6052', '2010-10', 'nat64'),
  // A local translator may map this anywhere, so the address inside proves nothing.
  refused('64:ff9b:1::/48', 'IPv4-IPv6 Translation, local use', 'RFC 8215', '2017-06', 'nat64-local'),
  refused('100::/64', 'Discard-Only Address Block', 'RFC 6666', '2012-06', 'discard'),
  refused('100:0:0:1::/64', 'Dummy IPv6 Prefix', 'RFC 9780', '2025-04', 'dummy'),
  refused('2001::/23', 'IETF Protocol Assignments', 'RFC 2928', '2000-09', 'protocol-assignments'),
  refused('2001::/32', 'TEREDO', 'RFC 4380; RFC 8190', '2006-01', 'teredo'),
  reachable('2001:1::1/128', 'Port Control Protocol Anycast', 'RFC 7723', '2015-10', 'anycast'),
  reachable('2001:1::2/128', 'Traversal Using Relays around NAT Anycast', 'RFC 8155', '2017-02', 'anycast'),
  reachable('2001:1::3/128', 'DNS-SD Service Registration Protocol Anycast', 'RFC 9665', '2024-04', 'anycast'),
  refused('2001:2::/48', 'Benchmarking', 'RFC 5180; RFC errata 1752', '2008-04', 'benchmarking'),
  reachable('2001:3::/32', 'AMT', 'RFC 7450', '2014-12', 'amt'),
  reachable('2001:4:112::/48', 'AS112-v6', 'RFC 7535', '2014-12', 'as112'),
  refused('2001:10::/28', 'Deprecated (previously ORCHID)', 'RFC 4843', '2007-03', 'orchid'),
  reachable('2001:20::/28', 'ORCHIDv2', 'RFC 7343', '2014-07', 'orchid'),
  reachable('2001:30::/28', 'Drone Remote ID Protocol Entity Tags (DETs)', 'RFC 9374', '2022-12', 'drone-ids'),
  refused('2001:db8::/32', 'Documentation', 'RFC 3849', '2004-07', 'documentation'),
  translated('2002::/16', '6to4', 'RFC 3056', '2001-02', '6to4'),
  reachable('2620:4f:8000::/48', 'Direct Delegation AS112 Service', 'RFC 7534', '2011-05', 'as112'),
  refused('3fff::/20', 'Documentation', 'RFC 9637', '2024-07', 'documentation'),
  refused('5f00::/16', 'Segment Routing (SRv6) SIDs', 'RFC 9602', '2024-04', 'srv6-sids'),
  refused('fc00::/7', 'Unique-Local', 'RFC 4193; RFC 8190', '2005-10', 'unique-local'),
  refused('fe80::/10', 'Link-Local Unicast', 'RFC 4291', '2006-02', 'link-local'),

  refused('::/96', 'Deprecated (IPv4-compatible Address)', 'RFC 4291, section 2.5.5.1', '—', 'ipv4-compatible'),
  refused('::ffff:0:0:0/96', 'IPv4-translated Address (SIIT)', 'RFC 2765', '—', 'ipv4-translated'),
  refused('::/8', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('100::/8', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('200::/7', 'Reserved by IETF (formerly NSAP)', 'RFC 4048', '—', 'reserved'),
  refused('400::/6', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('800::/5', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('1000::/4', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  unicast('2000::/3', 'Global Unicast', 'RFC 4291', '—'),
  refused('4000::/3', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('6000::/3', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('8000::/3', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('a000::/3', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('c000::/3', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('e000::/4', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('f000::/5', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('f800::/6', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('fe00::/9', 'Reserved by IETF', 'RFC 4291', '—', 'reserved'),
  refused('fec0::/10', 'Deprecated (Site-Local Unicast)', 'RFC 3879', '—', 'site-local'),
  refused('ff00::/8', 'Multicast', 'RFC 4291', '—', 'multicast'),
  refused('::/0', 'Whatever no other row holds', 'RFC 4291', '—', 'reserved'),
];
