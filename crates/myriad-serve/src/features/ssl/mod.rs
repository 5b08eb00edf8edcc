//! Variables of nginx's ssl module: properties of the handshake and of the client certificate.

mod certificate;
mod handshake;
#[cfg(test)]
mod tests;

pub(super) use certificate::ROWS as CERTIFICATE;
pub(super) use handshake::ROWS as HANDSHAKE;
