//! Encoding of the environment's name-value pairs.

/// Sink for the pairs of an environment, in their order.
pub(crate) trait Pairs {
    /// Appends a pair.
    fn push(&mut self, name: &[u8], value: &[u8]);
}

impl Pairs for myriad_upstream::fastcgi_protocol::Params {
    fn push(&mut self, name: &[u8], value: &[u8]) {
        // A pair of more than two gigabytes cannot be encoded and is omitted.
        myriad_upstream::fastcgi_protocol::Params::push(self, name, value);
    }
}

/// Appends the environment form of a field name.
pub(super) fn push_name(field: &[u8], name: &mut Vec<u8>) {
    name.extend(field.iter().map(|byte| match byte {
        b'-' => b'_',
        byte => byte.to_ascii_uppercase(),
    }));
}
