//! DNS messages, as far as needed to resolve addresses and services (RFC 1035 section 4). Public for the fuzz test.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Type of DNS records to query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// IPv4 addresses (RFC 1035 section 3.4.1).
    A,
    /// IPv6 addresses (RFC 3596).
    Aaaa,
    /// Service records (RFC 2782).
    Srv,
}

impl QueryKind {
    /// Returns the number of the type in a question (RFC 1035 section 3.2.2).
    const fn number(self) -> u16 {
        match self {
            Self::A => A,
            Self::Aaaa => AAAA,
            Self::Srv => SRV,
        }
    }
}

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;
const SRV: u16 = 33;
const IN: u16 = 1;

/// Length of the header of a DNS message in bytes (RFC 1035 section 4.1.1).
const HEADER: usize = 12;
/// Maximum length of a label of a name in bytes (RFC 1035 section 2.3.4). [`MAX_NAME`] is the maximum length of a name;
/// like nginx, it counts dots instead of length bytes.
const MAX_LABEL: usize = 63;
const MAX_NAME: usize = 255;
/// Maximum number of compression pointers in a name of a DNS message.
const MAX_JUMPS: usize = 16;

/// Reply of a name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsReply {
    /// Records of the reply, with their validity in seconds.
    Records {
        /// Addresses of the queried type, in the order of the message.
        addresses: Vec<IpAddr>,
        /// Service records, in the order of the message.
        servers: Vec<ServiceRecord>,
        /// Target of the last CNAME record, in lower case; `None` if there is no such record.
        alias: Option<String>,
        /// Validity of all records: the minimum of their TTLs in seconds; the maximum `u32` without records.
        ttl_s: u32,
    },
    /// Error code from the name server (RCODE of RFC 1035, 2 to 5).
    Refused(u8),
    /// The reply does not fit into a datagram: the query must be repeated over TCP.
    Truncated,
}

/// Server of a service, from an SRV record (RFC 2782).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRecord {
    /// Priority; the servers with the lowest number are used first.
    pub priority: u16,
    /// Weight among the servers of the same priority.
    pub weight: u16,
    /// Port of the server.
    pub port: u16,
    /// Name of the server in lower case; empty if the record says that the service does not exist.
    pub target: String,
}

/// Returns whether a name, without a final dot, is valid in a DNS query.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME
        && name.split('.').all(|label| !label.is_empty() && label.len() <= MAX_LABEL)
        && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Encodes a DNS query with recursion desired. The name must be valid according to [`is_name`].
pub fn encode_query(id: u16, name: &str, kind: QueryKind) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + name.len() + 6);
    for word in [id, 0x0100, 1, 0, 0, 0] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    for label in name.split('.') {
        out.push(label.len() as u8);
        out.extend_from_slice(label.as_bytes());
    }
    out.push(0);
    for word in [kind.number(), IN] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out
}

/// Parses the reply to a DNS query. `None` for anything but a well-formed reply to exactly this query, which the caller
/// must ignore; also for the RCODEs 1 and above 5.
pub fn parse_reply(bytes: &[u8], id: u16, name: &str, kind: QueryKind) -> Option<DnsReply> {
    let mut reader = Reader { bytes, at: 0 };
    let (their_id, flags) = (reader.word()?, reader.word()?);
    let (questions, answers) = (reader.word()?, reader.word()?);
    reader.skip(4)?;
    // Accepts only a response to a standard query without reserved bits.
    if their_id != id || flags & 0xf870 != 0x8000 || questions != 1 {
        return None;
    }
    let asked = reader.name()?;
    if !asked.eq_ignore_ascii_case(name) || reader.word()? != kind.number() || reader.word()? != IN {
        return None;
    }
    match (flags & 0xf) as u8 {
        // Like nginx, ignores format errors and codes above 5.
        1 | 6.. => return None,
        0 => {}
        code => return Some(DnsReply::Refused(code)),
    }
    if flags & 0x0200 != 0 {
        return Some(DnsReply::Truncated);
    }
    records(&mut reader, answers, kind)
}

fn records(reader: &mut Reader<'_>, count: u16, kind: QueryKind) -> Option<DnsReply> {
    let (mut addresses, mut servers, mut alias, mut ttl_s) = (Vec::new(), Vec::new(), None, u32::MAX);
    for _ in 0..count {
        reader.name()?;
        let (number, class) = (reader.word()?, reader.word()?);
        let ttl = u32::from(reader.word()?) << 16 | u32::from(reader.word()?);
        let length = usize::from(reader.word()?);
        if class != IN {
            return None;
        }
        // RFC 2181 section 8: a TTL with the highest bit set counts as 0.
        ttl_s = ttl_s.min(if ttl > i32::MAX as u32 { 0 } else { ttl });
        let from = reader.at;
        let data = reader.take(length)?;
        match number {
            A if kind == QueryKind::A => {
                let octets = <[u8; 4]>::try_from(data).ok()?;
                addresses.push(Ipv4Addr::from(octets).into());
            }
            AAAA if kind == QueryKind::Aaaa => {
                let octets = <[u8; 16]>::try_from(data).ok()?;
                addresses.push(Ipv6Addr::from(octets).into());
            }
            SRV if kind == QueryKind::Srv => servers.push(service(reader.bytes, from, length)?),
            A | AAAA | SRV => return None,
            CNAME => alias = Some(Reader { bytes: reader.bytes, at: from }.name()?),
            _ => {}
        }
    }
    Some(DnsReply::Records { addresses, servers, alias, ttl_s })
}

/// Parses a service record of `length` bytes at `from`; `None` if it is malformed. Accepts a compressed name, which RFC
/// 2782 forbids but some servers send.
fn service(bytes: &[u8], from: usize, length: usize) -> Option<ServiceRecord> {
    let mut reader = Reader { bytes, at: from };
    let (priority, weight, port) = (reader.word()?, reader.word()?, reader.word()?);
    let target = reader.name()?;
    (reader.at == from + length).then_some(ServiceRecord { priority, weight, port, target })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.take(count).map(drop)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn word(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// Parses a name and returns it in lower case without a final dot; `None` if it is invalid. Compression pointers
    /// must refer to earlier bytes (RFC 1035 section 4.1.4).
    fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        let (mut end, mut jumps, mut lowest) = (None, 0, self.at);
        loop {
            let length = self.byte()?;
            match length {
                0 => break,
                1..=63 => {
                    let label = self.take(usize::from(length))?;
                    if !name.is_empty() {
                        name.push('.');
                    }
                    if !label.iter().all(u8::is_ascii_graphic) || name.len() + label.len() > MAX_NAME {
                        return None;
                    }
                    name.extend(label.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
                }
                0xc0.. => {
                    let target = usize::from(length & 0x3f) << 8 | usize::from(self.byte()?);
                    end.get_or_insert(self.at);
                    jumps += 1;
                    if jumps > MAX_JUMPS || target >= lowest {
                        return None;
                    }
                    lowest = target;
                    self.at = target;
                }
                _ => return None,
            }
        }
        if let Some(end) = end {
            self.at = end;
        }
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a response to `question` with the given flags and records.
    fn response(question: &[u8], flags: u16, records: &[&[u8]]) -> Vec<u8> {
        let mut bytes = question.to_vec();
        bytes[2..4].copy_from_slice(&flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
        for record in records {
            bytes.extend_from_slice(record);
        }
        bytes
    }

    fn record(kind: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
        let mut record = vec![0xc0, 12];
        for word in [kind, IN] {
            record.extend_from_slice(&word.to_be_bytes());
        }
        record.extend_from_slice(&ttl.to_be_bytes());
        record.extend_from_slice(&(data.len() as u16).to_be_bytes());
        record.extend_from_slice(data);
        record
    }

    #[test]
    fn addresses_are_read_with_the_shortest_ttl() {
        let asked = encode_query(7, "a.example", QueryKind::A);
        let bytes =
            response(&asked, 0x8180, &[&record(A, 60, &[127, 0, 0, 1]), &record(A, 5, &[127, 0, 0, 2])]);
        let addresses = vec!["127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap()];
        let expected = DnsReply::Records { addresses, servers: Vec::new(), alias: None, ttl_s: 5 };
        assert_eq!(parse_reply(&bytes, 7, "A.example", QueryKind::A), Some(expected));
    }

    #[test]
    fn servers_of_a_service_are_read_and_those_cut_short_are_not() {
        let asked = encode_query(7, "_http._tcp.a.example", QueryKind::Srv);
        let with = |data: &[u8]| {
            parse_reply(
                &response(&asked, 0x8180, &[&record(SRV, 9, data)]),
                7,
                "_http._tcp.a.example",
                QueryKind::Srv,
            )
        };
        let record =
            |target: &str| ServiceRecord { priority: 1, weight: 2, port: 8080, target: target.into() };
        let expected = |target: &str| {
            let servers = vec![record(target)];
            Some(DnsReply::Records { addresses: vec![], servers, alias: None, ttl_s: 9 })
        };
        assert_eq!(with(b"\0\x01\0\x02\x1f\x90\x03One\0"), expected("one"));
        // A pointer to `a.example` in the question, after `_http._tcp`.
        assert_eq!(with(b"\0\x01\0\x02\x1f\x90\x03one\xc0\x17"), expected("one.a.example"));
        assert_eq!(with(b"\0\x01\0\x02\x1f\x90\0"), expected(""));
        assert_eq!(with(b"\0\x01\0\x02\x1f\x90"), None);
        assert_eq!(with(b"\0\x01\0\x02\x1f\x90\x03one\0more"), None);
        let addressed = response(
            &encode_query(7, "a", QueryKind::A),
            0x8180,
            &[&super::tests::record(SRV, 9, b"\0\0\0\0\0\0\0")],
        );
        assert_eq!(parse_reply(&addressed, 7, "a", QueryKind::A), None);
    }

    #[test]
    fn an_alias_is_read_through_a_pointer() {
        let asked = encode_query(7, "a.example", QueryKind::A);
        let bytes = response(&asked, 0x8180, &[&record(CNAME, 9, &[1, b'B', 0xc0, 14])]);
        let alias = Some("b.example".to_owned());
        assert_eq!(
            parse_reply(&bytes, 7, "a.example", QueryKind::A),
            Some(DnsReply::Records { addresses: vec![], servers: vec![], alias, ttl_s: 9 })
        );
    }

    #[test]
    fn what_answers_another_question_is_no_reply() {
        let asked = encode_query(7, "a.example", QueryKind::A);
        let good = response(&asked, 0x8180, &[]);
        assert!(parse_reply(&good, 7, "a.example", QueryKind::A).is_some());
        assert!(parse_reply(&good, 8, "a.example", QueryKind::A).is_none());
        assert!(parse_reply(&good, 7, "b.example", QueryKind::A).is_none());
        assert!(parse_reply(&good, 7, "a.example", QueryKind::Aaaa).is_none());
        assert!(parse_reply(&asked, 7, "a.example", QueryKind::A).is_none());
        let six = response(&asked, 0x8180, &[&record(AAAA, 9, &[0; 16])]);
        assert!(parse_reply(&six, 7, "a.example", QueryKind::A).is_none());
        let short = response(&asked, 0x8180, &[&record(A, 9, &[])]);
        assert!(parse_reply(&short, 7, "a.example", QueryKind::A).is_none());
    }

    #[test]
    fn dns_error_codes_and_truncation_are_reported() {
        let asked = encode_query(7, "a.example", QueryKind::A);
        let with = |flags| parse_reply(&response(&asked, flags, &[]), 7, "a.example", QueryKind::A);
        assert_eq!(with(0x8183), Some(DnsReply::Refused(3)));
        assert_eq!(with(0x8380), Some(DnsReply::Truncated));
        assert_eq!(with(0x8181), None);
        assert_eq!(with(0x8186), None);
    }

    #[test]
    fn a_message_cut_anywhere_or_with_any_byte_changed_is_read_without_harm() {
        let asked = encode_query(7, "a.example", QueryKind::A);
        let bytes = response(
            &asked,
            0x8180,
            &[&record(CNAME, 9, &[1, b'b', 0xc0, 14]), &record(A, 1, &[1, 2, 3, 4])],
        );
        for end in 0..bytes.len() {
            assert_eq!(parse_reply(&bytes[..end], 7, "a.example", QueryKind::A), None, "{end}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x3f, 0x40, 0xc0, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = parse_reply(&changed, 7, "a.example", QueryKind::A);
            }
        }
    }

    #[test]
    fn a_pointer_to_itself_ends() {
        let asked = encode_query(7, "a.example", QueryKind::A);
        let at = asked.len() as u8 + 12;
        let bytes = response(&asked, 0x8180, &[&record(CNAME, 9, &[0xc0, at])]);
        assert_eq!(parse_reply(&bytes, 7, "a.example", QueryKind::A), None);
    }

    #[test]
    fn names_have_bounds() {
        assert!(is_name("a.b"));
        for name in ["", ".", "a..b", "a b", "a\0", &"a".repeat(64), &["a"; 130].join(".")] {
            assert!(!is_name(name), "{name}");
        }
    }
}
