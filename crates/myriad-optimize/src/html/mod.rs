//! HTML: tokens, the resources that a page loads, white space.

mod regions;
mod scan;
mod tokenizer;
mod whitespace;

pub(crate) use regions::{ElementRegions, VOID};
pub use scan::{PageScan, ResourceKind, ScannedImage, ScannedResource, scan};
pub(crate) use scan::{declared_encoding, is_module, is_script};
pub(crate) use tokenizer::is_blank;
pub use tokenizer::{HtmlAttribute, HtmlKind, HtmlRefusal, HtmlTag, HtmlToken, tokenize};
pub use whitespace::collapse_whitespace;
