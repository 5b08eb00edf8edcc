//! Generated configuration of a preset, and the options from which a reload generates it again.

use super::options::SiteOptions;
use super::site::PresetSite;
use super::site_kind::SiteKind;

/// Configuration of a `myriad wordpress` or `myriad php`, and the options from which a reload generates it again.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Text of the generated configuration.
    pub text: Vec<u8>,
    options: SiteOptions,
}

impl Preset {
    /// Creates the preset from the configuration `site`, which was generated from `options`.
    pub fn new(site: &PresetSite, options: &SiteOptions) -> Self {
        let options = SiteOptions { serving: site.choice.clone(), ..options.clone() };
        Self { text: site.text.clone(), options }
    }

    /// Returns the kind of the preset's sites.
    pub(super) fn kind(&self) -> SiteKind {
        self.options.kind
    }

    /// Generates the configuration again: all files, folders and sockets that the options name are read again, and a
    /// self-signed certificate is renewed if necessary. Also returns warnings.
    ///
    /// # Errors
    /// Returns an error text if the sites fail the checks of a start, or the certificate cannot be created.
    pub fn renewed(&self) -> Result<(Self, Vec<String>), String> {
        let site = self.options.site()?;
        if let Some(certificate) = &site.self_signed {
            certificate.make().map_err(|error| format!("wordpress: --self-signed: {error}"))?;
        }
        Ok((Self { text: site.text, ..self.clone() }, site.warnings))
    }
}
