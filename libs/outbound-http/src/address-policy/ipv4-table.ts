import { reachable, refused, unicast, type Block } from './block';

/**
 * IPv4: every row of the IANA IPv4 Special-Purpose Address Registry as of 2025-10-09, then what that registry leaves
 * out (multicast, one cloud's host agent) and the rest. The longest prefix that holds an address decides.
 */
export const ipv4Table: readonly Block[] = [
  refused('0.0.0.0/8', 'This network', 'RFC 791, section 3.2', '1981-09', 'this-network'),
  // Linux connects this one to the loopback interface.
  refused('0.0.0.0/32', 'This host on this network', 'RFC 1122, section 3.2.1.3', '1981-09', 'unspecified'),
  refused('10.0.0.0/8', 'Private-Use', 'RFC 1918', '1996-02', 'private'),
  refused('100.64.0.0/10', 'Shared Address Space', 'RFC 6598', '2012-04', 'shared'),
  refused('127.0.0.0/8', 'Loopback', 'RFC 1122, section 3.2.1.3', '1981-09', 'loopback'),
  refused('169.254.0.0/16', 'Link Local', 'RFC 3927', '2005-05', 'link-local'),
  refused('172.16.0.0/12', 'Private-Use', 'RFC 1918', '1996-02', 'private'),
  refused('192.0.0.0/24', 'IETF Protocol Assignments', 'RFC 6890, section 2.1', '2010-01', 'protocol-assignments'),
  refused('192.0.0.0/29', 'IPv4 Service Continuity Prefix', 'RFC 7335', '2011-06', 'protocol-assignments'),
  refused('192.0.0.8/32', 'IPv4 dummy address', 'RFC 7600', '2015-03', 'dummy'),
  reachable('192.0.0.9/32', 'Port Control Protocol Anycast', 'RFC 7723', '2015-10', 'anycast'),
  reachable('192.0.0.10/32', 'Traversal Using Relays around NAT Anycast', 'RFC 8155', '2017-02', 'anycast'),
  refused('192.0.0.170/32', 'NAT64/DNS64 Discovery', 'RFC 8880; RFC 7050, section 2.2', '2013-02', 'nat64-discovery'),
  refused('192.0.0.171/32', 'NAT64/DNS64 Discovery', 'RFC 8880; RFC 7050, section 2.2', '2013-02', 'nat64-discovery'),
  refused('192.0.2.0/24', 'Documentation (TEST-NET-1)', 'RFC 5737', '2010-01', 'documentation'),
  reachable('192.31.196.0/24', 'AS112-v4', 'RFC 7535', '2014-12', 'as112'),
  reachable('192.52.193.0/24', 'AMT', 'RFC 7450', '2014-12', 'amt'),
  refused('192.88.99.0/24', 'Deprecated (6to4 Relay Anycast)', 'RFC 7526', '2001-06', '6to4-relay'),
  refused('192.88.99.2/32', '6a44 relay anycast address', 'RFC 6751', '2012-10', '6to4-relay'),
  refused('192.168.0.0/16', 'Private-Use', 'RFC 1918', '1996-02', 'private'),
  reachable('192.175.48.0/24', 'Direct Delegation AS112 Service', 'RFC 7534', '1996-01', 'as112'),
  refused('198.18.0.0/15', 'Benchmarking', 'RFC 2544', '1999-03', 'benchmarking'),
  refused('198.51.100.0/24', 'Documentation (TEST-NET-2)', 'RFC 5737', '2010-01', 'documentation'),
  refused('203.0.113.0/24', 'Documentation (TEST-NET-3)', 'RFC 5737', '2010-01', 'documentation'),
  refused('240.0.0.0/4', 'Reserved', 'RFC 1112, section 4', '1989-08', 'reserved'),
  refused('255.255.255.255/32', 'Limited Broadcast', 'RFC 8190; RFC 919, section 7', '1984-10', 'broadcast'),

  refused('224.0.0.0/4', 'Multicast', 'RFC 5771', '—', 'multicast'),
  // Ordinary public space by every registry, yet on each machine of that cloud the agent of its own host answers here.
  refused('168.63.129.16/32', 'Azure host agent', 'Microsoft Azure documentation', '—', 'cloud-host-agent'),
  unicast('0.0.0.0/0', 'Everything else: unicast', 'RFC 791', '—'),
];
