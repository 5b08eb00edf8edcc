//! Name-value pairs: the CGI environment in FastCGI encoding (FastCGI 1.0, section 3.4).

/// Maximum length in bytes of a parameter's name or value with the four-byte length encoding (FastCGI 1.0, section 3.4:
/// 31 bits).
pub const MAX_LENGTH: usize = 0x7fff_ffff;

/// Block of FastCGI name-value pairs (the CGI environment), encoded incrementally.
///
/// The block is a single stream: [`crate::fastcgi_protocol::request::params`] splits it into records at any position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    block: Vec<u8>,
}

impl Params {
    /// Creates an empty block.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty block with capacity for `bytes` encoded bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { block: Vec::with_capacity(bytes) }
    }

    /// Adds a name-value pair. Returns `false` and omits the pair if its name or value exceeds [`MAX_LENGTH`].
    pub fn push(&mut self, name: &[u8], value: &[u8]) -> bool {
        if name.len() > MAX_LENGTH || value.len() > MAX_LENGTH {
            return false;
        }
        self.block.reserve(8 + name.len() + value.len());
        push_length(&mut self.block, name.len());
        push_length(&mut self.block, value.len());
        self.block.extend_from_slice(name);
        self.block.extend_from_slice(value);
        true
    }

    /// Removes all pairs and retains the allocated memory.
    pub fn clear(&mut self) {
        self.block.clear();
    }

    /// Returns the encoded block.
    pub fn as_bytes(&self) -> &[u8] {
        &self.block
    }

    /// Returns the encoded block as an owned vector.
    pub fn into_bytes(self) -> Vec<u8> {
        self.block
    }

    /// Returns the pairs in the order of insertion.
    pub fn iter(&self) -> Pairs<'_> {
        pairs(&self.block)
    }
}

impl<'a> IntoIterator for &'a Params {
    type Item = ParamPair<'a>;
    type IntoIter = Pairs<'a>;

    fn into_iter(self) -> Pairs<'a> {
        self.iter()
    }
}

/// Appends a length: up to 127 in one byte, otherwise in four bytes with the top bit set.
fn push_length(block: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => block.push(short),
        _ => block.extend_from_slice(&(length as u32 | 0x8000_0000).to_be_bytes()),
    }
}

/// Iterates over the pairs of an encoded block; stops at the first truncated pair.
pub fn pairs(block: &[u8]) -> Pairs<'_> {
    Pairs { rest: block }
}

/// Name of a FastCGI parameter with its value.
pub type ParamPair<'a> = (&'a [u8], &'a [u8]);

/// Iterator over the name-value pairs of an encoded block, see [`pairs`].
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    rest: &'a [u8],
}

impl<'a> Pairs<'a> {
    fn read(&self) -> Option<(ParamPair<'a>, &'a [u8])> {
        let (name_length, rest) = read_length(self.rest)?;
        let (value_length, rest) = read_length(rest)?;
        let (name, rest) = rest.split_at_checked(name_length)?;
        let (value, rest) = rest.split_at_checked(value_length)?;
        Some(((name, value), rest))
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = ParamPair<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (pair, rest) = self.read()?;
        self.rest = rest;
        Some(pair)
    }
}

fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        return Some((usize::from(first), rest));
    }
    let (long, rest) = bytes.split_first_chunk::<4>()?;
    Some(((u32::from_be_bytes(*long) & 0x7fff_ffff) as usize, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_switch_to_four_bytes_at_128() {
        let mut params = Params::new();
        params.push(b"A", &[b'x'; 127]);
        assert_eq!(&params.as_bytes()[..2], &[1, 127]);
        params.clear();
        params.push(b"A", &[b'x'; 128]);
        assert_eq!(&params.as_bytes()[..5], &[1, 0x80, 0, 0, 128]);
    }

    #[test]
    fn pairs_come_back_as_pushed() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut expected = Vec::new();
            let mut params = Params::with_capacity(64);
            for _ in 0..random.usize(0..20) {
                let name: Vec<u8> = (0..random.usize(0..200)).map(|_| random.u8(..)).collect();
                let value: Vec<u8> = (0..random.usize(0..70_000)).map(|_| random.u8(..)).collect();
                assert!(params.push(&name, &value));
                expected.push((name, value));
            }
            let read: Vec<_> = params.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn a_cut_block_ends_early_and_never_panics() {
        let mut params = Params::new();
        params.push(b"SCRIPT_FILENAME", b"/srv/index.php");
        params.push(b"QUERY_STRING", &[b'q'; 300]);
        for cut in 0..params.as_bytes().len() {
            assert!(pairs(&params.as_bytes()[..cut]).count() < 2);
        }
    }
}
