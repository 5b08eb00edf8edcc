//! Well-known field names, each found with one table look-up.
//!
//! The hash of a name covers its length, its first byte and its last two bytes. The table is computed at compile time,
//! and the build fails if two names collide. A look-up therefore reads one slot and compares at most four words.

macro_rules! known_fields {
    ($($variant:ident $name:literal)*) => {
        /// Well-known field name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(clippy::enum_variant_names, reason = "the field's own names")]
        pub enum Known {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        const NAMES: &[&str] = &[$($name),*];
        const VARIANTS: &[Known] = &[$(Known::$variant),*];
    };
}

known_fields! {
    Accept "Accept"
    AcceptCharset "Accept-Charset"
    AcceptEncoding "Accept-Encoding"
    AcceptLanguage "Accept-Language"
    AcceptRanges "Accept-Ranges"
    AccessControlAllowCredentials "Access-Control-Allow-Credentials"
    AccessControlAllowOrigin "Access-Control-Allow-Origin"
    Age "Age"
    Allow "Allow"
    AltSvc "Alt-Svc"
    Authorization "Authorization"
    CacheControl "Cache-Control"
    CacheTag "Cache-Tag"
    CdnCacheControl "CDN-Cache-Control"
    Connection "Connection"
    ContentDisposition "Content-Disposition"
    ContentEncoding "Content-Encoding"
    ContentLanguage "Content-Language"
    ContentLength "Content-Length"
    ContentLocation "Content-Location"
    ContentRange "Content-Range"
    ContentSecurityPolicy "Content-Security-Policy"
    ContentType "Content-Type"
    Cookie "Cookie"
    Date "Date"
    Depth "Depth"
    Destination "Destination"
    Dnt "DNT"
    ETag "ETag"
    Expect "Expect"
    Expires "Expires"
    Forwarded "Forwarded"
    Host "Host"
    Http2Settings "HTTP2-Settings"
    IfMatch "If-Match"
    IfModifiedSince "If-Modified-Since"
    IfNoneMatch "If-None-Match"
    IfRange "If-Range"
    IfUnmodifiedSince "If-Unmodified-Since"
    KeepAlive "Keep-Alive"
    LastModified "Last-Modified"
    Link "Link"
    Location "Location"
    MaxForwards "Max-Forwards"
    Origin "Origin"
    Overwrite "Overwrite"
    Pragma "Pragma"
    Priority "Priority"
    ProxyAuthenticate "Proxy-Authenticate"
    ProxyAuthorization "Proxy-Authorization"
    ProxyConnection "Proxy-Connection"
    Purpose "Purpose"
    Range "Range"
    Referer "Referer"
    Refresh "Refresh"
    RetryAfter "Retry-After"
    SaveData "Save-Data"
    SecFetchDest "Sec-Fetch-Dest"
    SecFetchMode "Sec-Fetch-Mode"
    SecFetchSite "Sec-Fetch-Site"
    SecFetchUser "Sec-Fetch-User"
    Server "Server"
    SetCookie "Set-Cookie"
    Status "Status"
    StrictTransportSecurity "Strict-Transport-Security"
    SurrogateCapability "Surrogate-Capability"
    SurrogateControl "Surrogate-Control"
    SurrogateKey "Surrogate-Key"
    Te "TE"
    Trailer "Trailer"
    TransferEncoding "Transfer-Encoding"
    Upgrade "Upgrade"
    UpgradeInsecureRequests "Upgrade-Insecure-Requests"
    UserAgent "User-Agent"
    Vary "Vary"
    Via "Via"
    Warning "Warning"
    WwwAuthenticate "WWW-Authenticate"
    XAccelBuffering "X-Accel-Buffering"
    XAccelCharset "X-Accel-Charset"
    XAccelExpires "X-Accel-Expires"
    XAccelLimitRate "X-Accel-Limit-Rate"
    XAccelRedirect "X-Accel-Redirect"
    XCache "X-Cache"
    XCacheTags "X-Cache-Tags"
    XForwardedFor "X-Forwarded-For"
    XForwardedHost "X-Forwarded-Host"
    XForwardedPort "X-Forwarded-Port"
    XForwardedProto "X-Forwarded-Proto"
    XHttpMethodOverride "X-HTTP-Method-Override"
    XKey "xkey"
    XLiteSpeedCacheControl "X-LiteSpeed-Cache-Control"
    XLiteSpeedPurge "X-LiteSpeed-Purge"
    XLiteSpeedTag "X-LiteSpeed-Tag"
    XLiteSpeedVary "X-LiteSpeed-Vary"
    XMyriadProbe "X-Myriad-Probe"
    XPoweredBy "X-Powered-By"
    XPurgeMethod "X-Purge-Method"
    XRealIp "X-Real-IP"
    XRequestedWith "X-Requested-With"
}

const _: () = assert!(NAMES.len() <= 128, "presence of known fields is one u128");

/// Maximum length of a well-known field name in bytes.
const LONGEST: usize = 32;
/// Number of slots of the hash table of well-known field names.
const SLOTS: usize = 1024;
const EMPTY: u8 = u8::MAX;

/// Well-known field name, prepared for a case-insensitive comparison of eight bytes at a time.
#[derive(Clone, Copy)]
struct Folded {
    /// Name in lower case, as little-endian words at the offsets that [`Known::from_bytes`] reads.
    lower: [u64; LONGEST / 8],
    /// `0x20` for every letter, otherwise 0: the only bit in which an equal name may differ.
    case: [u64; LONGEST / 8],
    len: u8,
}

static SLOT: [u8; SLOTS] = slots();
static FOLDED: [Folded; NAMES.len()] = folded();

/// Returns the hash table slot for a name of two bytes or more. The factors were found by a random search for values
/// without collisions.
const fn slot_of(name: &[u8]) -> usize {
    let len = name.len();
    let mixed = (len as u32)
        .wrapping_mul(0x3DCF)
        .wrapping_add(((name[0] | 0x20) as u32).wrapping_mul(0x28B1))
        .wrapping_add(((name[len - 2] | 0x20) as u32).wrapping_mul(0xBE79))
        .wrapping_add(((name[len - 1] | 0x20) as u32).wrapping_mul(0xD855));
    ((mixed ^ (mixed >> 11)) as usize) % SLOTS
}

const fn slots() -> [u8; SLOTS] {
    let mut slots = [EMPTY; SLOTS];
    let mut id = 0;
    while id < NAMES.len() {
        let name = NAMES[id].as_bytes();
        let slot = slot_of(name);
        assert!(slots[slot] == EMPTY, "two known names share a slot");
        slots[slot] = id as u8;
        id += 1;
    }
    slots
}

const fn folded() -> [Folded; NAMES.len()] {
    let mut table = [Folded { lower: [0; 4], case: [0; 4], len: 0 }; NAMES.len()];
    let mut id = 0;
    while id < NAMES.len() {
        let name = NAMES[id].as_bytes();
        assert!(name.len() <= LONGEST);
        table[id].len = name.len() as u8;
        let count = name.len().div_ceil(8);
        let mut word = 0;
        while word < count {
            let start = if word + 1 == count && name.len() > 8 { name.len() - 8 } else { word * 8 };
            let mut at = 0;
            while at < 8 && start + at < name.len() {
                let byte = name[start + at];
                let case = if byte.is_ascii_alphabetic() { 0x20 } else { 0 };
                table[id].lower[word] |= ((byte | case) as u64) << (at * 8);
                table[id].case[word] |= (case as u64) << (at * 8);
                at += 1;
            }
            word += 1;
        }
        id += 1;
    }
    table
}

/// Returns a name of fewer than eight bytes as a word, padded with zeros.
#[inline]
fn short_word(name: &[u8]) -> u64 {
    if let (Some(head), Some(tail)) = (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        let tail = u64::from(u32::from_le_bytes(*tail));
        return u64::from(u32::from_le_bytes(*head)) | tail << ((name.len() - 4) * 8);
    }
    name.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

impl Known {
    /// Returns the well-known field called `name`, ignoring case; `None` for all other names.
    #[inline]
    pub fn from_bytes(name: &[u8]) -> Option<Self> {
        let len = name.len();
        if !(2..=LONGEST).contains(&len) {
            return None;
        }
        let id = usize::from(SLOT[slot_of(name)]);
        let folded = FOLDED.get(id)?;
        if usize::from(folded.len) != len {
            return None;
        }
        let differs = |read: u64, word: usize| (read ^ folded.lower[word]) & !folded.case[word];
        let mut difference = match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
            (Some(first), Some(last)) => {
                let last_word = (len - 1) / 8 % folded.lower.len();
                differs(u64::from_le_bytes(*first), 0) | differs(u64::from_le_bytes(*last), last_word)
            }
            _ => differs(short_word(name), 0),
        };
        // Only names of more than 16 bytes have words between the first and the last.
        for at in (8..len.saturating_sub(8)).step_by(8) {
            let word =
                name.get(at..).and_then(<[u8]>::first_chunk::<8>).map_or(0, |word| u64::from_le_bytes(*word));
            difference |= differs(word, at / 8 % folded.lower.len());
        }
        if difference == 0 { Some(VARIANTS[id]) } else { None }
    }

    /// Returns the field name in its usual spelling, such as `Content-Type`.
    pub fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Returns all well-known fields, in order of declaration.
    pub fn all() -> &'static [Self] {
        VARIANTS
    }

    /// Returns the bit that represents this field in a set of well-known fields.
    #[inline]
    pub(crate) const fn bit(self) -> u128 {
        1 << self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_case() {
        for &known in Known::all() {
            let name = known.as_str();
            assert_eq!(Known::from_bytes(name.as_bytes()), Some(known), "{name}");
            assert_eq!(Known::from_bytes(name.to_ascii_lowercase().as_bytes()), Some(known), "{name}");
            assert_eq!(Known::from_bytes(name.to_ascii_uppercase().as_bytes()), Some(known), "{name}");
        }
    }

    #[test]
    fn a_name_that_differs_in_any_bit_but_case_is_not_found() {
        for &known in Known::all() {
            let name = known.as_str().as_bytes();
            for at in 0..name.len() {
                for bit in 0..8 {
                    let mut other = name.to_vec();
                    other[at] ^= 1 << bit;
                    let expected = Known::all()
                        .iter()
                        .copied()
                        .find(|known| known.as_str().as_bytes().eq_ignore_ascii_case(&other));
                    assert_eq!(Known::from_bytes(&other), expected, "{:?}", other.escape_ascii().to_string());
                }
            }
        }
    }

    #[test]
    fn names_cut_short_or_made_longer_are_not_found() {
        for &known in Known::all() {
            let name = known.as_str();
            assert_eq!(Known::from_bytes(format!("{name}x").as_bytes()), None);
            let cut = &name[..name.len() - 1];
            assert!(Known::from_bytes(cut.as_bytes()).is_none_or(|found| found.as_str().len() == cut.len()));
        }
        assert_eq!(Known::from_bytes(b""), None);
        assert_eq!(Known::from_bytes(&[b'a'; 300]), None);
    }
}
