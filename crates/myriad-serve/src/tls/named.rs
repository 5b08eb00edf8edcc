//! Certificates that variables name: read when they are needed, by the worker and with its rights, as nginx does.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use myriad_conf::settings::CertificateCache;
use parking_lot::Mutex;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;

use super::certified::{Part, certified};

/// Bytes of a certificate or key that are read at most.
const LARGEST: u64 = 1 << 20;

/// Reads certificates by the names that variables come to: of files, or `data:` and the PEM itself.
pub(crate) struct NamedCertificates {
    folder: PathBuf,
    passwords: Vec<Vec<u8>>,
    provider: Arc<CryptoProvider>,
    remembered: Option<Arc<Remembered>>,
}

/// The memory of `ssl_certificate_cache`.
pub(crate) struct Remembered {
    /// Pairs, so half of what nginx counts.
    most: usize,
    inactive_ms: u64,
    valid_ms: u64,
    pairs: Mutex<HashMap<PairName, Pair>>,
}

/// The names of a certificate and of its key.
type PairName = (Vec<u8>, Vec<u8>);

struct Pair {
    certified: Arc<CertifiedKey>,
    read_ms: u64,
    asked_ms: u64,
    /// When it was asked for, counted: two in one millisecond have an order.
    turn: u64,
}

impl Remembered {
    pub(crate) fn new(cache: CertificateCache) -> Self {
        Self {
            most: (cache.max as usize / 2).max(1),
            inactive_ms: cache.inactive,
            valid_ms: cache.valid,
            pairs: Mutex::default(),
        }
    }

    fn get(&self, name: &PairName, now_ms: u64) -> Option<Arc<CertifiedKey>> {
        let mut pairs = self.pairs.lock();
        let turn = pairs.values().map(|pair| pair.turn).max().unwrap_or(0) + 1;
        let pair = pairs.get_mut(name)?;
        if now_ms.saturating_sub(pair.read_ms) > self.valid_ms {
            pairs.remove(name);
            return None;
        }
        (pair.asked_ms, pair.turn) = (now_ms, turn);
        Some(Arc::clone(&pair.certified))
    }

    fn put(&self, name: PairName, certified: &Arc<CertifiedKey>, now_ms: u64) {
        let mut pairs = self.pairs.lock();
        pairs.retain(|_, pair| now_ms.saturating_sub(pair.asked_ms) <= self.inactive_ms);
        let turn = pairs.values().map(|pair| pair.turn).max().unwrap_or(0) + 1;
        while pairs.len() >= self.most {
            let oldest = pairs.iter().min_by_key(|(_, pair)| pair.turn).map(|(name, _)| name.clone());
            let Some(oldest) = oldest else { break };
            pairs.remove(&oldest);
        }
        let certified = Arc::clone(certified);
        pairs.insert(name, Pair { certified, read_ms: now_ms, asked_ms: now_ms, turn });
    }
}

impl NamedCertificates {
    pub(crate) fn new(
        folder: PathBuf,
        passwords: Vec<Vec<u8>>,
        provider: Arc<CryptoProvider>,
        cache: Option<CertificateCache>,
    ) -> Self {
        let remembered = cache.map(|cache| Arc::new(Remembered::new(cache)));
        Self { folder, passwords, provider, remembered }
    }

    /// The pair of these names. A pair whose key is encrypted is never remembered: who has no password gets none.
    pub(crate) fn load(&self, certificate: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, String> {
        let now_ms = myriad_net::clock::now_ms();
        let name = (certificate.to_vec(), key.to_vec());
        if let Some(known) = self.remembered.as_ref().and_then(|memory| memory.get(&name, now_ms)) {
            return Ok(known);
        }
        let (chain_pem, key_pem) = (self.read(certificate)?, self.read(key)?);
        let (pair, was_encrypted) = certified(&chain_pem, &key_pem, &self.passwords, &self.provider)
            .map_err(|error| match error.part {
                Part::Certificate => format!("cannot use \"{}\": {error}", shown(certificate)),
                Part::Key => format!("cannot use \"{}\": {error}", shown(key)),
                Part::Pair => {
                    format!("the key \"{}\" does not belong to \"{}\"", shown(key), shown(certificate))
                }
            })?;
        if let Some(memory) = self.remembered.as_ref().filter(|_| !was_encrypted) {
            memory.put(name, &pair, now_ms);
        }
        Ok(pair)
    }

    fn read(&self, name: &[u8]) -> Result<Vec<u8>, String> {
        if let Some(pem) = name.strip_prefix(b"data:") {
            return Ok(pem.to_vec());
        }
        let path = self.folder.join(myriad_files::as_path(name));
        let fail = |error: std::io::Error| format!("cannot load \"{}\": {error}", path.display());
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path).map_err(fail)?;
        std::io::Read::read_to_end(&mut std::io::Read::take(file, LARGEST), &mut bytes).map_err(fail)?;
        Ok(bytes)
    }
}

/// A name for the error log; of `data:` no more, since a key may be behind it.
fn shown(name: &[u8]) -> String {
    if name.starts_with(b"data:") { "data:".to_owned() } else { String::from_utf8_lossy(name).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let memory = Remembered::new(CertificateCache { max: 4, inactive: 10_000, valid: 60_000 });
        for text in ["a", "b", "c"] {
            memory.put(name(text), &pair(), 0);
        }
        assert!(memory.get(&name("a"), 1).is_none());
        assert!(memory.get(&name("b"), 1).is_some() && memory.get(&name("c"), 1).is_some());
    }

    #[test]
    fn pairs_are_believed_for_a_while() {
        let memory = Remembered::new(CertificateCache { max: 4, inactive: 100, valid: 1000 });
        memory.put(name("a"), &pair(), 0);
        assert!(memory.get(&name("a"), 900).is_some());
        assert!(memory.get(&name("a"), 1001).is_none());
        memory.put(name("a"), &pair(), 2000);
        memory.put(name("b"), &pair(), 2101);
        assert!(memory.get(&name("a"), 2101).is_none(), "nobody asked for it in time");
    }
}
