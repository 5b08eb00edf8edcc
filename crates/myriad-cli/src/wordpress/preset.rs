//! Running preset, and the options from which a reload generates it again.

use super::options::SiteOptions;
use super::site::PresetSite;
use super::site_kind::SiteKind;

/// Main configuration of a `myriad wordpress`: the text, and the options from which a reload generates it again.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Configuration of the preset, with the settings filled in.
    pub text: Vec<u8>,
    options: SiteOptions,
}

impl Preset {
    /// Creates the preset of a site that was generated from these options.
    pub fn new(site: &PresetSite, options: &SiteOptions) -> Self {
        let options = SiteOptions { serving: site.choice.clone(), ..options.clone() };
        Self { text: site.text.clone(), options }
    }

    /// Returns the kind of its sites.
    pub(super) fn kind(&self) -> SiteKind {
        self.options.kind
    }

    /// Reads all files, folders and sockets that the options name again. Returns the warnings, too.
    ///
    /// # Errors
    /// Returns the errors of a start.
    pub fn renewed(&self) -> Result<(Self, Vec<String>), String> {
        let site = self.options.site()?;
        if let Some(certificate) = &site.self_signed {
            certificate.make().map_err(|error| format!("wordpress: --self-signed: {error}"))?;
        }
        Ok((Self { text: site.text, ..self.clone() }, site.warnings))
    }
}
