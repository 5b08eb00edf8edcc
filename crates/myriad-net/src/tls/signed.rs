//! How a client has signed, for `$ssl_client_sigalg`: rustls tells it to nobody but to who judges the signature, who does not know
//! of which session it is. Both happen within one call on one thread.

use std::cell::Cell;

use rustls::SignatureScheme;

thread_local! {
    static SCHEME: Cell<Option<SignatureScheme>> = const { Cell::new(None) };
}

/// A client's signature holds: said by who has judged it.
pub fn client_has_signed(scheme: SignatureScheme) {
    SCHEME.set(Some(scheme));
}

/// Has a session take in what came, and hears how its client has signed, if it did so just now.
pub(crate) fn hearing<T>(take_in: impl FnOnce() -> T) -> (T, Option<SignatureScheme>) {
    SCHEME.set(None);
    let outcome = take_in();
    (outcome, SCHEME.take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_is_not_heard() {
        client_has_signed(SignatureScheme::ED25519);
        assert_eq!(hearing(|| 1), (1, None));
        let said = hearing(|| client_has_signed(SignatureScheme::RSA_PSS_SHA256)).1;
        assert_eq!(said, Some(SignatureScheme::RSA_PSS_SHA256));
        assert_eq!(hearing(|| ()).1, None);
    }
}
