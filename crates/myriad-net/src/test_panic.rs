//! Panics on demand, for tests of the panic handling.

/// Panics once, for tests, if `MYRIAD_TEST_PANIC=PLACE:FILE` is set, PLACE equals `place`, and FILE contains the ID of
/// this process. Only in builds with debug assertions. The configuration must pass the variable with `env`.
#[cfg(debug_assertions)]
pub(crate) fn test_panic(place: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    static DONE: AtomicBool = AtomicBool::new(false);
    static ASKED: OnceLock<Option<(String, String)>> = OnceLock::new();
    let read = || {
        let text = std::env::var("MYRIAD_TEST_PANIC").ok()?;
        text.split_once(':').map(|(place, file)| (place.to_owned(), file.to_owned()))
    };
    if let Some((asked, file)) = ASKED.get_or_init(read)
        && asked == place
        && std::fs::read_to_string(file).is_ok_and(|pid| pid == std::process::id().to_string())
    {
        assert!(DONE.swap(true, Ordering::Relaxed), "a test wants a panic in {place}");
    }
}

#[cfg(not(debug_assertions))]
pub(crate) fn test_panic(_: &str) {}
