//! Limits of the work for one page.

/// Limits of the work for one page; what exceeds them is left unchanged.
#[derive(Clone, Debug)]
pub struct OptimizeLimits {
    /// Maximum length of a page in bytes.
    pub page_bytes: usize,
    /// Maximum number of tokens (tags, texts, comments) of a page.
    pub page_tokens: usize,
    /// Maximum length of a style sheet in bytes.
    pub sheet_bytes: usize,
    /// Maximum number of nested blocks, functions and brackets in a style sheet.
    pub sheet_depth: usize,
    /// Maximum length of a script in bytes.
    pub script_bytes: usize,
    /// Maximum length of a combined style sheet in bytes.
    pub bundle_bytes: usize,
}

impl Default for OptimizeLimits {
    fn default() -> Self {
        Self {
            page_bytes: 4 << 20,
            page_tokens: 300_000,
            sheet_bytes: 2 << 20,
            sheet_depth: 64,
            script_bytes: 4 << 20,
            bundle_bytes: 2 << 20,
        }
    }
}
