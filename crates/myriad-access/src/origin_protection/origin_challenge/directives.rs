//! Directive `origin_challenge`, and its parser.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, between};
use myriad_conf::settings::Settings;

use super::pass::{BITS, PassRules};
use super::settings::{ChallengeConf, ChallengeSettings};

/// Bounds of `valid=` (lifetime of a pass), in milliseconds: one minute to 30 days.
const VALID_MS: std::ops::RangeInclusive<u64> = 60_000..=30 * 86_400_000;
/// Minimum length of `secret=` (key of the signatures of passes), in bytes.
const SECRET: usize = 16;
/// Bounds of `passes=` (new passes per client network and minute); the maximum corresponds to one pass per millisecond.
const PASSES: std::ops::RangeInclusive<u64> = 1..=60_000;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "origin_challenge",
    Contexts::HSL,
    between(1, 5),
    Set::Settings(origin_challenge),
    "Requires a pass before a request is sent to the origin, if the text is neither empty nor `0`: the client gets a \
         page whose script computes a proof of work and repeats the request with the cookie `myriad_pass`. Each bit of \
         `bits=` doubles the work (16: a fraction of a second). A pass is valid for `valid=` (1h), one network (/24, /64 \
         for IPv6) and one browser; servers with the same clients need the same `secret=`, except the nodes of a \
         `cluster`. A network may use `passes=` (30) new passes per minute, with a burst of the same size; beyond that it \
         gets 429. Stored pages are always served, and the challenge page is never stored.",
)
.default("off")
.own()];

fn origin_challenge(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let when = args.text(0)?;
    if when.bytes() == b"off" {
        if args.len() > 1 {
            return Err(args.invalid(1, "omitted after `off`"));
        }
        settings.feature_mut::<ChallengeSettings>().0 = None;
        return Ok(());
    }
    let mut rules = PassRules::default();
    for index in 1..args.len() {
        let word = args.bytes(index);
        let (name, value) = word.split_at(word.iter().position(|byte| *byte == b'=').map_or(0, |at| at + 1));
        match name {
            b"bits=" => rules.bits = bits(args, index, name.len())?,
            b"valid=" => rules.valid_s = valid(args, index, name.len())?,
            b"passes=" => rules.passes = passes(args, index, name.len())?,
            b"secret=" if value.len() >= SECRET => rules.secret = Some(value.into()),
            b"secret=" => return Err(args.invalid(index, format!("a text of at least {SECRET} bytes"))),
            _ => return Err(args.invalid(index, "`bits=N`, `valid=TIME`, `passes=N` or `secret=TEXT`")),
        }
    }
    settings.feature_mut::<ChallengeSettings>().0 = Some(ChallengeConf { when, rules });
    Ok(())
}

fn bits(args: &Arguments<'_>, index: usize, skip: usize) -> Result<u32, myriad_conf::Diagnostic> {
    let bits = args.small(index, skip)?;
    if BITS.contains(&bits) {
        Ok(bits)
    } else {
        Err(args.invalid(index, format!("from {} to {}", BITS.start(), BITS.end())))
    }
}

fn passes(args: &Arguments<'_>, index: usize, skip: usize) -> Result<u64, myriad_conf::Diagnostic> {
    let passes = args.number_after(index, skip)?;
    if PASSES.contains(&passes) {
        Ok(passes)
    } else {
        Err(args.invalid(index, format!("from {} to {}", PASSES.start(), PASSES.end())))
    }
}

fn valid(args: &Arguments<'_>, index: usize, skip: usize) -> Result<u64, myriad_conf::Diagnostic> {
    let valid_ms = args.millis_after(index, skip)?;
    if VALID_MS.contains(&valid_ms) {
        Ok(valid_ms / 1000)
    } else {
        Err(args.invalid(index, "from 1m to 30d"))
    }
}
