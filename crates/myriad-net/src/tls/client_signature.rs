//! Signature scheme of a client certificate (`$ssl_client_sigalg`). rustls passes the scheme only to the signature
//! verifier, which has no access to the session; a thread-local value passes the scheme to the session within one call.

use std::cell::Cell;

use rustls::SignatureScheme;

thread_local! {
    static SCHEME: Cell<Option<SignatureScheme>> = const { Cell::new(None) };
}

/// Records the scheme of a valid client signature. Called by the signature verifier.
pub fn client_has_signed(scheme: SignatureScheme) {
    SCHEME.set(Some(scheme));
}

/// Runs `take_in`, which processes received TLS records, and returns its result and the scheme of the client signature
/// verified during the call, if any.
pub(crate) fn with_client_scheme<T>(take_in: impl FnOnce() -> T) -> (T, Option<SignatureScheme>) {
    SCHEME.set(None);
    let outcome = take_in();
    (outcome, SCHEME.take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_scheme_is_recorded_only_within_call() {
        client_has_signed(SignatureScheme::ED25519);
        assert_eq!(with_client_scheme(|| 1), (1, None));
        let reported = with_client_scheme(|| client_has_signed(SignatureScheme::RSA_PSS_SHA256)).1;
        assert_eq!(reported, Some(SignatureScheme::RSA_PSS_SHA256));
        assert_eq!(with_client_scheme(|| ()).1, None);
    }
}
