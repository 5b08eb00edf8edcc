//! The pairs of an environment, in the framing of a protocol.

/// Takes the pairs of an environment in their order.
pub(crate) trait Pairs {
    /// Takes a pair.
    fn push(&mut self, name: &[u8], value: &[u8]);
}

impl Pairs for myriad_fastcgi::Params {
    fn push(&mut self, name: &[u8], value: &[u8]) {
        // What is longer than two gigabytes cannot be said, and is left out.
        myriad_fastcgi::Params::push(self, name, value);
    }
}

/// Appends the name of a field as the environment has it.
pub(super) fn push_name(field: &[u8], name: &mut Vec<u8>) {
    name.extend(field.iter().map(|byte| match byte {
        b'-' => b'_',
        byte => byte.to_ascii_uppercase(),
    }));
}
