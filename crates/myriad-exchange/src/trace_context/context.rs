//! `traceparent` and `tracestate`: <https://www.w3.org/TR/trace-context/>.
//!
//! Values from clients are forwarded to origins and collectors only after validation: `traceparent` is parsed and
//! formatted again, and each member of `tracestate` is checked.

use super::ids::{SpanId, TraceId, digit};

/// Length of a `traceparent` of version 00, in bytes.
const LENGTH: usize = 55;
/// Maximum number of members of a `tracestate` (section 3.3.1.1).
const MAX_MEMBERS: usize = 32;
/// Maximum length of a forwarded `tracestate`, in bytes; section 3.3.1.5 requires at least 512.
pub const MAX_STATE: usize = 512;

/// Contents of `traceparent`: the trace, and the span that is the parent of the receiver's span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// Identifier of the trace to which the request belongs.
    pub trace: TraceId,
    /// Identifier of the sender's span, which is the parent of the receiver's span.
    pub span: SpanId,
    /// True if the sender records the trace (flag `sampled`).
    pub sampled: bool,
}

impl TraceParent {
    /// Parses a value of `traceparent` (section 3.2). Returns `None` if it is invalid; the request then starts a new
    /// trace.
    ///
    /// Of later versions than 00, only the parts that version 00 has are parsed (section 4.3).
    pub fn read(value: &[u8]) -> Option<Self> {
        let value = value.trim_ascii();
        let (known, rest) = value.split_at_checked(LENGTH)?;
        let version = (digit(known[0])?, digit(known[1])?);
        let is_first = version == (0, 0);
        if version == (15, 15) || is_first && !rest.is_empty() || !rest.is_empty() && rest[0] != b'-' {
            return None;
        }
        if [known[2], known[35], known[52]] != *b"---" {
            return None;
        }
        digit(known[53])?;
        let flags = digit(known[54])?;
        Some(Self {
            trace: TraceId::read(&known[3..35])?,
            span: SpanId::read(&known[36..52])?,
            sampled: flags & 1 == 1,
        })
    }

    /// Appends the value of `traceparent` in the format of version 00 to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"00-");
        self.trace.write(out);
        out.push(b'-');
        self.span.write(out);
        out.extend_from_slice(if self.sampled { b"-01" } else { b"-00" });
    }
}

/// Joins the members in the given `tracestate` fields (section 3.3), omitting empty ones. Returns `None` without
/// members, if a member is invalid or its key occurs twice, if there are more than [`MAX_MEMBERS`], or if the result is
/// longer than [`MAX_STATE`].
pub fn trace_state<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let members = fields.flat_map(|field| field.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let mut state: Vec<u8> = Vec::new();
    let mut keys: Vec<&[u8]> = Vec::new();
    for member in members.filter(|member| !member.is_empty()) {
        let equals = member.iter().position(|byte| *byte == b'=')?;
        let (key, value) = (&member[..equals], &member[equals + 1..]);
        if !is_key(key) || !is_value(value) || keys.contains(&key) || keys.len() == MAX_MEMBERS {
            return None;
        }
        keys.push(key);
        if !state.is_empty() {
            state.push(b',');
        }
        state.extend_from_slice(member);
        if state.len() > MAX_STATE {
            return None;
        }
    }
    (!state.is_empty()).then_some(state)
}

/// Returns true if the text is a valid key of a `tracestate` member (section 3.3.1.3.1), including the form
/// `tenant@system`.
fn is_key(key: &[u8]) -> bool {
    let is_rest = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/');
    let is_word = |word: &[u8], most: usize, digit_first: bool| {
        let first = word
            .first()
            .is_some_and(|first| first.is_ascii_lowercase() || digit_first && first.is_ascii_digit());
        first && word.len() <= most && word.iter().all(is_rest)
    };
    match key.iter().position(|byte| *byte == b'@') {
        Some(at) => is_word(&key[..at], 241, true) && is_word(&key[at + 1..], 14, false),
        None => is_word(key, 256, true),
    }
}

/// Returns true if the text is a valid value (section 3.3.1.3.2): 1 to 256 bytes of printable ASCII without comma and
/// equals sign, not ending with a space.
fn is_value(value: &[u8]) -> bool {
    let is_part = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'=');
    value.len() <= 256 && value.iter().all(is_part) && value.last().is_some_and(|last| *last != b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "00-0af7651916cd43dd8448eb211c80319c-b9c7c989f97918e1-01";

    fn written(value: &str) -> Option<String> {
        let parent = TraceParent::read(value.as_bytes())?;
        let mut out = Vec::new();
        parent.write(&mut out);
        Some(String::from_utf8(out).expect("digits"))
    }

    #[test]
    fn parent_is_read_and_written_as_it_was() {
        assert_eq!(written(SOUND).as_deref(), Some(SOUND));
        let not = SOUND.replace("-01", "-00");
        assert_eq!(written(&not).as_deref(), Some(&*not));
        // Unknown flags are not forwarded.
        assert_eq!(written(&SOUND.replace("-01", "-ff")).as_deref(), Some(SOUND));
        assert_eq!(written(&SOUND.replace("-01", "-fe")), Some(not));
    }

    #[test]
    fn later_version_is_read_as_far_as_the_first_goes() {
        for value in [SOUND.replacen("00-", "cc-", 1), SOUND.replacen("00-", "cc-", 1) + "-what-comes"] {
            assert_eq!(written(&value).as_deref(), Some(SOUND), "{value}");
        }
        for value in [SOUND.replacen("00-", "cc-", 1) + ".x", SOUND.replacen("00-", "ff-", 1)] {
            assert_eq!(written(&value), None, "{value}");
        }
    }

    #[test]
    fn parent_that_is_not_valid_is_none() {
        let zeros = |from: usize, to: usize| {
            let mut text = SOUND.to_owned();
            text.replace_range(from..to, &"0".repeat(to - from));
            text
        };
        let bad = [
            String::new(),
            SOUND[..54].to_owned(),
            format!("{SOUND}-00"),
            format!("{SOUND}0"),
            SOUND.to_uppercase(),
            SOUND.replace('-', "_"),
            SOUND.replace("0af7", "0ag7"),
            SOUND.replace("-01", "-0x"),
            SOUND.replace("-01", "-x1"),
            zeros(3, 35),
            zeros(36, 52),
            format!("{}\r\nX: y", &SOUND[..50]),
        ];
        for value in bad {
            assert_eq!(written(&value), None, "{value}");
        }
    }

    #[test]
    fn no_bytes_at_all_make_it_panic_or_write_anything_but_digits() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..200_000 {
            let mut value = SOUND.as_bytes().to_vec();
            for _ in 0..=seed % 3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (seed >> 33) as usize % value.len();
                value[at] = (seed >> 20) as u8;
            }
            value.truncate(value.len() - (seed >> 60) as usize % 3);
            if let Some(parent) = TraceParent::read(&value) {
                let mut out = Vec::new();
                parent.write(&mut out);
                assert!(
                    out.len() == LENGTH && out.iter().all(|byte| digit(*byte).is_some() || *byte == b'-')
                );
            }
        }
    }

    fn state(fields: &[&str]) -> Option<String> {
        trace_state(fields.iter().map(|field| field.as_bytes()))
            .map(|state| String::from_utf8(state).expect("ASCII"))
    }

    #[test]
    fn state_is_passed_on_in_its_order() {
        assert_eq!(state(&["a=1, b=2 ,,", " t1@s=x y"]).as_deref(), Some("a=1,b=2,t1@s=x y"));
        assert_eq!(state(&["congo=ucfJifl5GOE"]).as_deref(), Some("congo=ucfJifl5GOE"));
        assert_eq!(state(&["", " , "]), None);
    }

    #[test]
    fn state_with_one_bad_member_is_none() {
        for value in [
            "a",
            "A=1",
            "=1",
            "a=1=2",
            "a=\r\nX: y",
            "a=\u{e9}",
            "a=1,a=2",
            "@s=1",
            "t@=1",
            "t@1=1",
            "a=",
            "a=\0",
        ] {
            assert_eq!(state(&[value]), None, "{value}");
        }
        let many: Vec<_> = (0..33).map(|number| format!("k{number}=1")).collect();
        assert_eq!(state(&[&many.join(",")]), None);
        assert!(state(&[&many[..32].join(",")]).is_some());
        assert_eq!(state(&[&format!("a={}", "x".repeat(257))]), None);
        assert_eq!(state(&["a=", &"b".repeat(300)]), None);
        let long: Vec<_> = (0..3).map(|number| format!("k{number}={}", "x".repeat(200))).collect();
        assert_eq!(state(&[&long.join(",")]), None, "beyond 512 bytes in all");
    }
}
