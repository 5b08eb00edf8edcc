//! Variables of nginx's ssl module: what a handshake came to, the certificate that the client has shown.

mod certificate;
mod handshake;
#[cfg(test)]
mod tests;

pub(super) use certificate::ROWS as CERTIFICATE;
pub(super) use handshake::ROWS as HANDSHAKE;
