//! Table of `split_clients source $variable { 10% a; * b; }`: values by hash of the source.

use crate::error::ScriptError;

/// Compiled table of `split_clients`.
#[derive(Debug)]
pub(crate) struct SplitClients {
    /// Values of the variable, each with the exclusive upper bound of the hashes to which it belongs; `None` for all
    /// remaining hashes.
    parts: Vec<(Option<u32>, Box<[u8]>)>,
}

impl SplitClients {
    /// Parses the lines of the block. Reports all errors together.
    pub(crate) fn compile(lines: &[Vec<&str>]) -> Result<SplitClients, Vec<ScriptError>> {
        let mut split = SplitClients { parts: Vec::new() };
        let mut errors = Vec::new();
        let (mut sum, mut bound) = (0, 0);
        for (item, line) in lines.iter().enumerate() {
            if let Err(error) = split.add(line, &mut sum, &mut bound) {
                errors.push(error.in_item(item));
            }
        }
        if errors.is_empty() { Ok(split) } else { Err(errors) }
    }

    fn add(&mut self, line: &[&str], sum: &mut u64, bound: &mut u64) -> Result<(), ScriptError> {
        let &[share, value] = line else {
            return Err(ScriptError::new("invalid number of the split_clients parameters"));
        };
        let share = if share == "*" { None } else { Some(hundredths(share)?) };
        *sum = share.map_or(10_000, |share| *sum + share);
        if *sum > 10_000 {
            return Err(ScriptError::new("percent total is greater than 100%"));
        }
        let upper = share.map(|share| {
            // Each share is rounded separately, as in nginx, so that both assign clients to the same parts.
            *bound += share * u64::from(u32::MAX) / 10_000;
            *bound as u32
        });
        self.parts.push((upper, value.as_bytes().into()));
        Ok(())
    }

    /// Returns the value for the hash of a text; empty if no part covers it.
    pub(crate) fn find(&self, text: &[u8]) -> &[u8] {
        let hash = murmur_hash2(text);
        let part = self.parts.iter().find(|(upper, _)| upper.is_none_or(|upper| hash < upper));
        part.map_or(b"", |(_, value)| value)
    }
}

/// Parses a share of at most two decimals, such as `12.34%`, as hundredths (1234). Returns an error for 0 and above
/// 100%.
fn hundredths(text: &str) -> Result<u64, ScriptError> {
    let invalid = || ScriptError::new(format!("invalid percent value \"{text}\""));
    let number = text.strip_suffix('%').ok_or_else(invalid)?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + decimals.len() == 0 || decimals.len() > 2 || !digits(whole) || !digits(decimals) {
        return Err(invalid());
    }
    let value = format!("{whole}{decimals:0<2}").parse::<u64>().map_err(|_| invalid())?;
    if value == 0 || value > 10_000 { Err(invalid()) } else { Ok(value) }
}

/// Returns the 32-bit MurmurHash2 of `text` with seed 0 (by Austin Appleby), which nginx uses for this directive.
fn murmur_hash2(text: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = text.len() as u32;
    let mut words = text.chunks_exact(4);
    for word in &mut words {
        let mut k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        for (place, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * place);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests;
