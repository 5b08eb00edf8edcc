//! Encoding of the environment's name-value pairs.

/// Sink for the name-value pairs of a CGI environment, which retains their order.
pub(crate) trait Pairs {
    /// Appends a name-value pair to the environment in the encoding of the protocol.
    fn push(&mut self, name: &[u8], value: &[u8]);
}

impl Pairs for myriad_upstream::fastcgi_protocol::Params {
    fn push(&mut self, name: &[u8], value: &[u8]) {
        // A name or value of 2 GiB or more cannot be encoded: the pair is omitted.
        myriad_upstream::fastcgi_protocol::Params::push(self, name, value);
    }
}

/// Appends a header field name to `name` in its CGI form: upper case, `_` instead of `-`.
pub(super) fn push_name(field: &[u8], name: &mut Vec<u8>) {
    name.extend(field.iter().map(|byte| match byte {
        b'-' => b'_',
        byte => byte.to_ascii_uppercase(),
    }));
}
