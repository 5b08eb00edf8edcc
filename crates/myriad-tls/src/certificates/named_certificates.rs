//! Certificates whose names contain variables. As in nginx, the worker reads their files during a handshake or request,
//! with its own rights.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use myriad_base::bounded::Lru;
use myriad_conf::settings::CertificateCache;
use parking_lot::Mutex;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;

use super::certified_key::{PairPart, certified_key};
use super::files::{DATA, display_name};

/// Maximum number of bytes read from a certificate or key file; the rest is ignored.
const LARGEST: u64 = 1 << 20;

/// Loader of certificates and keys whose names contain variables. With the values of the variables, a name is that of a
/// file, or `data:` followed by PEM text.
pub struct NamedCertificates {
    /// Folder against which relative names are resolved.
    folder: PathBuf,
    passwords: Vec<Vec<u8>>,
    provider: Arc<CryptoProvider>,
    cache: Option<Arc<CertificatePairCache>>,
}

/// Cache of recently used certificates with their keys (`ssl_certificate_cache`).
struct CertificatePairCache {
    /// Time in milliseconds since the last use after which a pair is removed. It is checked only when another pair is
    /// added.
    inactive_ms: u64,
    /// Time in milliseconds after which a cached pair is not used any more but read from its files again.
    valid_ms: u64,
    /// Cached pairs. Their maximum number is half of `max` in the directive, and at least one, because nginx counts
    /// certificates and keys separately.
    pairs: Mutex<Lru<PairName, CachedPair>>,
}

/// Name of a certificate and name of its key, with the values of the variables.
type PairName = (Vec<u8>, Vec<u8>);

struct CachedPair {
    certified: Arc<CertifiedKey>,
    /// Time at which the files were read, in milliseconds of the process clock.
    read_ms: u64,
    /// Time of the last use, in milliseconds of the process clock.
    used_ms: u64,
}

impl CertificatePairCache {
    fn new(cache: CertificateCache) -> Self {
        Self {
            inactive_ms: cache.inactive,
            valid_ms: cache.valid,
            pairs: Mutex::new(Lru::new((u64::from(cache.max) / 2).max(1))),
        }
    }

    fn get(&self, name: &PairName, now_ms: u64) -> Option<Arc<CertifiedKey>> {
        let mut pairs = self.pairs.lock();
        let pair = pairs.get_mut(name)?;
        if now_ms.saturating_sub(pair.read_ms) > self.valid_ms {
            pairs.remove(name);
            return None;
        }
        pair.used_ms = now_ms;
        Some(Arc::clone(&pair.certified))
    }

    fn put(&self, name: PairName, certified: &Arc<CertifiedKey>, now_ms: u64) {
        let mut pairs = self.pairs.lock();
        while pairs.remove_oldest_if(|pair| now_ms.saturating_sub(pair.used_ms) > self.inactive_ms) {}
        let pair = CachedPair { certified: Arc::clone(certified), read_ms: now_ms, used_ms: now_ms };
        pairs.insert(name, pair, 1);
    }
}

impl NamedCertificates {
    pub(crate) fn new(
        folder: PathBuf,
        passwords: Vec<Vec<u8>>,
        provider: Arc<CryptoProvider>,
        cache: Option<CertificateCache>,
    ) -> Self {
        let remembered = cache.map(|cache| Arc::new(CertificatePairCache::new(cache)));
        Self { folder, passwords, provider, cache: remembered }
    }

    /// Returns a certificate with its key from the cache, or reads their files and adds them to the cache. The names
    /// contain the values of the variables. The error is a log message. A certificate with an encrypted key is not
    /// cached, as in nginx.
    pub fn load(&self, certificate: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, String> {
        let now_ms = myriad_net::clock::now_ms();
        let name = (certificate.to_vec(), key.to_vec());
        if let Some(known) = self.cache.as_ref().and_then(|memory| memory.get(&name, now_ms)) {
            return Ok(known);
        }
        let (chain_pem, key_pem) = (self.read(certificate)?, self.read(key)?);
        let (pair, was_encrypted) = certified_key(&chain_pem, &key_pem, &self.passwords, &self.provider)
            .map_err(|error| match error.part {
                PairPart::Certificate => format!("cannot use \"{}\": {error}", display_name(certificate)),
                PairPart::Key => format!("cannot use \"{}\": {error}", display_name(key)),
                PairPart::Pair => {
                    format!(
                        "the private key \"{}\" does not match the certificate \"{}\"",
                        display_name(key),
                        display_name(certificate)
                    )
                }
            })?;
        if let Some(memory) = self.cache.as_ref().filter(|_| !was_encrypted) {
            memory.put(name, &pair, now_ms);
        }
        Ok(pair)
    }

    fn read(&self, name: &[u8]) -> Result<Vec<u8>, String> {
        if let Some(pem) = name.strip_prefix(DATA) {
            return Ok(pem.to_vec());
        }
        let path = self.folder.join(OsStr::from_bytes(name));
        let fail = |error: io::Error| format!("cannot load \"{}\": {error}", path.display());
        let mut bytes = Vec::new();
        File::open(&path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes)).map_err(fail)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acme_client::SigningKey;
    use crate::testing::{TestCertificate, der, now_s};
    use rustls::crypto::aws_lc_rs;

    const KEY_BEGINS: [u8; 16] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];

    fn pair() -> Arc<CertifiedKey> {
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from([&KEY_BEGINS[..], &[7; 32]].concat());
        let key = aws_lc_rs::default_provider().key_provider.load_private_key(key.into()).unwrap();
        Arc::new(CertifiedKey::new(Vec::new(), key))
    }

    fn name(text: &str) -> PairName {
        (text.into(), text.into())
    }

    #[test]
    fn memory_holds_half_as_many_pairs_and_forgets_the_oldest() {
        let memory = CertificatePairCache::new(CertificateCache { max: 4, inactive: 10_000, valid: 60_000 });
        for text in ["a", "b", "c"] {
            memory.put(name(text), &pair(), 0);
        }
        assert!(memory.get(&name("a"), 1).is_none());
        assert!(memory.get(&name("b"), 1).is_some() && memory.get(&name("c"), 1).is_some());
    }

    #[test]
    fn cached_certificate_pair_is_valid_for_limited_time() {
        let memory = CertificatePairCache::new(CertificateCache { max: 4, inactive: 100, valid: 1000 });
        memory.put(name("a"), &pair(), 0);
        assert!(memory.get(&name("a"), 900).is_some());
        assert!(memory.get(&name("a"), 1001).is_none());
        memory.put(name("a"), &pair(), 2000);
        memory.put(name("b"), &pair(), 2101);
        assert!(memory.get(&name("a"), 2101).is_none(), "nobody asked for it in time");
    }

    /// Temporary folder of a test, removed when dropped.
    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("myriad-tls-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn write(&self, name: &str, bytes: &[u8]) {
            std::fs::write(self.0.join(name), bytes).unwrap();
        }

        fn certificates(&self, cache: Option<CertificateCache>) -> NamedCertificates {
            let provider = Arc::new(aws_lc_rs::default_provider());
            NamedCertificates::new(self.0.clone(), vec![b"secret".to_vec()], provider, cache)
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const CACHE: CertificateCache = CertificateCache { max: 8, inactive: 60_000, valid: 60_000 };

    #[test]
    fn pairs_are_read_when_they_are_asked_for() {
        let folder = TestFolder::new("read");
        let [made, other] = [TestCertificate::usual(), TestCertificate::usual()];
        folder.write("a", &made.both());
        folder.write("b", &other.both());
        let all = folder.certificates(None);
        assert_eq!(all.load(b"a", b"a").unwrap().cert[0].as_ref(), der(&made.certificate));
        let written = [b"data:", &made.both()[..]].concat();
        assert!(all.load(&written, &written).is_ok());
        assert_eq!(
            all.load(b"a", b"b").unwrap_err(),
            "the private key \"b\" does not match the certificate \"a\""
        );
        assert_eq!(
            all.load(b"a", b"data:x").unwrap_err(),
            "cannot use \"data:\": the file contains no private key in PEM format"
        );
        let missing = all.load(b"none", b"a").unwrap_err();
        assert!(missing.starts_with("cannot load \"") && missing.contains("none\": "), "{missing}");
        folder.write("a", &other.both());
        assert_eq!(all.load(b"a", b"a").unwrap().cert[0].as_ref(), der(&other.certificate));
    }

    #[test]
    fn pairs_are_remembered_but_for_those_under_a_password() {
        let folder = TestFolder::new("remember");
        let key = SigningKey::from_pem(include_bytes!("fixtures/bare.pem")).unwrap();
        let bare = TestCertificate::with(&key, "a.test", now_s());
        folder.write("bare", &bare.both());
        folder.write("sealed", &[&bare.certificate[..], include_bytes!("fixtures/pkcs8.pem")].concat());
        let all = folder.certificates(Some(CACHE));
        for name in [&b"bare"[..], b"sealed"] {
            assert!(all.load(name, name).is_ok());
        }
        for name in ["bare", "sealed"] {
            folder.write(name, b"");
        }
        assert!(all.load(b"bare", b"bare").is_ok());
        assert!(all.load(b"sealed", b"sealed").is_err());
    }
}
