//! Passes, in the form `1.EXPIRES.BITS.SIGNATURE.NUMBER`.
//!
//! The server signs the expiry time, the amount of work and the bearer; this is the challenge. The browser searches a
//! number for which SHA-256 of `SIGNATURE.NUMBER` begins with `BITS` zero bits. The verification computes an HMAC and a
//! digest.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use aws_lc_rs::{digest, hmac};

use super::pass_key::{PassKey, default_key};
use crate::origin_protection::rate_table::AdmissionRate;

/// Name of the cookie that contains a pass.
pub(super) const COOKIE: &str = "myriad_pass";
/// Bounds of `bits=`: finding the number that solves a challenge takes 2 to this power digests on average.
pub(super) const BITS: RangeInclusive<u32> = 8..=24;
/// Maximum number of decimal digits of the number that solves a challenge. The digest input then fits into one block.
const NUMBER: usize = 12;
/// Number of hexadecimal digits of the signature of a pass: 128 bits.
const SIGNATURE: usize = 32;
/// Maximum number of bytes of `User-Agent` that the signature of a pass includes.
const AGENT: usize = 512;

/// Default of `passes=`: number of new passes that one network may use per minute. A pass costs a client only some
/// milliseconds of work; without a bound, a client could create a pass for each request.
const PASSES: u64 = 30;

/// Requirements for passes: parameters of `origin_challenge`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassRules {
    /// `bits=`: number of leading zero bits of the digest; each doubles the work.
    pub bits: u32,
    /// `valid=`: lifetime of a pass, in seconds.
    pub valid_s: u64,
    /// `passes=`: number of new passes that one network may use per minute.
    pub passes: u64,
    /// `secret=`: key of the signatures; `None` for the key of all locations without this parameter ([`default_key`]).
    pub secret: Option<Box<[u8]>>,
}

impl Default for PassRules {
    fn default() -> Self {
        Self { bits: 16, valid_s: 3600, passes: PASSES, secret: None }
    }
}

/// Client network, browser and server for which a pass is valid.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassBearer<'a> {
    /// Network of the client; `None` if it is connected through a Unix socket.
    pub network: Option<IpAddr>,
    /// Name of the virtual server.
    pub server: &'a [u8],
    /// Value of `User-Agent`; empty if absent.
    pub agent: &'a [u8],
}

/// Creates challenges and verifies passes by the rules of a location.
pub(crate) struct PassSigner {
    rules: PassRules,
    key: Arc<PassKey>,
}

impl PassSigner {
    /// Creates a signer with the secret of the rules, or else with the key of all locations without a secret.
    pub(crate) fn new(rules: PassRules) -> Self {
        let key = match &rules.secret {
            Some(secret) => Arc::new(PassKey::new(secret)),
            None => default_key(),
        };
        Self { rules, key }
    }

    /// Returns the rate and the burst of new passes of one network.
    pub(super) fn rate(&self) -> AdmissionRate {
        AdmissionRate { interval_ms: self.interval_ms(), burst: self.rules.passes, wait_ms: 0 }
    }

    /// Returns the interval in which one network may use one new pass, in milliseconds, after its burst.
    pub(crate) fn interval_ms(&self) -> u64 {
        60_000 / self.rules.passes
    }

    /// Returns the lifetime of a pass, in seconds.
    pub(super) fn valid_s(&self) -> u64 {
        self.rules.valid_s
    }

    /// Returns a challenge for the client: a pass without the number that the browser must find. `now_s` is in seconds
    /// since the Unix epoch.
    pub(super) fn new_challenge(&self, bearer: &PassBearer<'_>, now_s: u64) -> String {
        let PassRules { bits, valid_s, .. } = self.rules;
        let expires_s = now_s + valid_s;
        let signature = self.signature(bearer, expires_s, bits);
        format!("1.{expires_s}.{bits}.{signature}")
    }

    /// Verifies a pass, the value of the cookie, for this bearer and the rules. Returns its signature as a number that
    /// identifies the pass; `None` if the pass is invalid or expired, is valid for longer than the rules permit, or
    /// required less work. `now_s` is in seconds since the Unix epoch.
    pub(super) fn verify(&self, cookie: &[u8], bearer: &PassBearer<'_>, now_s: u64) -> Option<u128> {
        let rules = &self.rules;
        let mut parts = std::str::from_utf8(cookie).ok()?.split('.');
        let mut next = || parts.next();
        let (version, expires, bits, signature, number) = (next()?, next()?, next()?, next()?, next()?);
        let is_number = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if next().is_some()
            || version != "1"
            || !is_number(expires, 12)
            || !is_number(bits, 2)
            || !is_number(number, NUMBER)
        {
            return None;
        }
        let (expires_s, bits): (u64, u32) = (expires.parse().ok()?, bits.parse().ok()?);
        let in_time = now_s < expires_s && expires_s <= now_s + rules.valid_s;
        if !in_time || bits < rules.bits || signature.len() != SIGNATURE {
            return None;
        }
        let expected = self.signature(bearer, expires_s, bits);
        aws_lc_rs::constant_time::verify_slices_are_equal(expected.as_bytes(), signature.as_bytes()).ok()?;
        let work = digest::digest(&digest::SHA256, format!("{signature}.{number}").as_bytes());
        let first = u32::from_be_bytes(work.as_ref().first_chunk().copied()?);
        (first.leading_zeros() >= bits).then(|| u128::from_str_radix(signature, 16).ok()).flatten()
    }

    fn signature(&self, bearer: &PassBearer<'_>, expires_s: u64, bits: u32) -> String {
        let mut context = hmac::Context::with_key(&self.key.get());
        let network = bearer.network.map_or_else(|| "unix".to_owned(), |network| network.to_string());
        context.update(format!("1 {expires_s} {bits} {network} {} ", bearer.server.len()).as_bytes());
        context.update(bearer.server);
        context.update(&bearer.agent[..bearer.agent.len().min(AGENT)]);
        let tag = context.sign();
        let half = tag.as_ref().first_chunk().copied().unwrap_or_default();
        format!("{:0SIGNATURE$x}", u128::from_be_bytes(half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn bearer<'a>(network: &str, server: &'a str, agent: &'a str) -> PassBearer<'a> {
        PassBearer { network: network.parse().ok(), server: server.as_bytes(), agent: agent.as_bytes() }
    }

    /// Solves a challenge like a browser and returns the pass.
    fn solve(challenge: &str) -> String {
        let mut parts = challenge.split('.').skip(2);
        let bits: u32 = parts.next().and_then(|bits| bits.parse().ok()).expect("the bits");
        let signature = parts.next().expect("the signature");
        let proves = |number: &u64| {
            let work = digest::digest(&digest::SHA256, format!("{signature}.{number}").as_bytes());
            work.as_ref()
                .first_chunk()
                .is_some_and(|first| u32::from_be_bytes(*first).leading_zeros() >= bits)
        };
        let number = (0..1 << 30).find(proves).expect("a number");
        format!("{challenge}.{number}")
    }

    #[test]
    fn pass_holds_for_its_bearer_and_its_time() {
        let rules = PassRules { bits: 8, valid_s: 60, ..PassRules::default() };
        let passes = PassSigner::new(rules.clone());
        let mine = bearer("192.0.2.0", "a.test", "Firefox");
        let pass = solve(&passes.new_challenge(&mine, NOW));
        let proves = |bearer: &PassBearer<'_>, now| passes.verify(pass.as_bytes(), bearer, now).is_some();
        assert!(proves(&mine, NOW) && proves(&mine, NOW + 59));
        assert!(!proves(&mine, NOW + 60), "the pass has expired");
        assert!(!proves(&mine, NOW - 1), "the pass is valid for longer than the rules permit");
        let dearer = PassSigner::new(PassRules { bits: 9, ..rules });
        assert!(dearer.verify(pass.as_bytes(), &mine, NOW).is_none(), "the pass has too few bits");
        for other in [
            bearer("192.0.3.0", "a.test", "Firefox"),
            bearer("192.0.2.0", "b.test", "Firefox"),
            bearer("192.0.2.0", "a.test", "curl"),
            bearer("192.0.2.0", "a.testF", "irefox"),
            bearer("unix", "a.test", "Firefox"),
        ] {
            assert!(!proves(&other, NOW), "{other:?}");
        }
    }

    #[test]
    fn what_was_not_signed_or_not_worked_for_is_none() {
        let rules = PassRules {
            bits: 12,
            valid_s: 60,
            secret: Some(b"a secret of servers"[..].into()),
            ..PassRules::default()
        };
        let passes = PassSigner::new(rules.clone());
        let mine = bearer("192.0.2.0", "a.test", "Firefox");
        let open = passes.new_challenge(&mine, NOW);
        let proves = |cookie: &str| passes.verify(cookie.as_bytes(), &mine, NOW).is_some();
        let pass = solve(&open);
        assert!(proves(&pass));
        let shared = PassSigner::new(rules.clone());
        assert!(shared.verify(pass.as_bytes(), &mine, NOW).is_some(), "both servers have the same secret");
        let own = PassSigner::new(PassRules { secret: None, ..rules });
        assert!(own.verify(pass.as_bytes(), &mine, NOW).is_none(), "the servers have different secrets");
        let wrong = (0..).map(|number| format!("{open}.{number}")).filter(|text| *text != pass).take(50);
        assert!(wrong.filter(|text| proves(text)).count() <= 1, "wrong solutions are rejected");
        let number = pass.rsplit('.').next().unwrap();
        for made_up in [
            String::new(),
            "1.2.3.4.5".into(),
            open.clone(),
            format!("{pass}."),
            format!("{pass}.1"),
            format!("{open}.+{number}"),
            format!("{open}.0000000000{number}"),
            pass.replacen("1.", "2.", 1),
            pass.replacen(".12.", ".8.", 1),
            pass.replacen(&(NOW + 60).to_string(), &(NOW + 59).to_string(), 1),
            pass.to_uppercase().replace('A', "é"),
        ] {
            assert!(!proves(&made_up), "{made_up}");
        }
    }
}
