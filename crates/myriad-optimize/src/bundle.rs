//! Style sheets and scripts that the optimizer makes.

use sha2::{Digest, Sha256};

use crate::PageUrl;

/// Start of the paths of the style sheets and scripts that the optimizer makes.
pub const BUNDLE_FOLDER: &str = "/_myriad/";

/// Kind of a text that the optimizer generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BundleKind {
    /// Style sheet.
    Css,
    /// Classic script.
    Js,
}

impl BundleKind {
    /// Returns the value of `Content-Type` for a bundle of this kind.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Css => "text/css; charset=utf-8",
            Self::Js => "text/javascript; charset=utf-8",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Css => ".css",
            Self::Js => ".js",
        }
    }
}

/// Style sheet or script that the optimizer generated: it replaces one or several of the page by a combined or shorter
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageBundle {
    /// Kind of the bundle: style sheet or script.
    pub kind: BundleKind,
    /// Path that contains a hash of the text: equal texts have equal paths.
    pub path: String,
    /// Text of the style sheet or script, in UTF-8.
    pub text: String,
    /// URLs of the files that the bundle replaces, in the order of the page, as the page names them; `style` elements
    /// that it replaces are not listed.
    pub parts: Vec<PageUrl>,
}

impl PageBundle {
    pub(crate) fn new(kind: BundleKind, text: String, parts: Vec<PageUrl>) -> Self {
        use std::fmt::Write as _;
        let mut path = BUNDLE_FOLDER.to_owned();
        for byte in short_digest(text.as_bytes()) {
            let _ = write!(path, "{byte:02x}");
        }
        Self { kind, path: path + kind.extension(), text, parts }
    }
}

/// Returns the first 16 bytes of the SHA-256 digest of `bytes`.
pub(crate) fn short_digest(bytes: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&Sha256::digest(bytes)[..16]);
    short
}
