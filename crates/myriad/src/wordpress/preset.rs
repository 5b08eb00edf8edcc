//! Preset that runs, and the options from which a reload makes it anew.

use super::kind::Kind;
use super::options::Options;
use super::site::Site;

/// Main configuration of a `myriad wordpress`: the text, and the options that make it anew at a reload.
#[derive(Clone, Debug)]
pub(crate) struct Preset {
    pub(crate) text: Vec<u8>,
    options: Options,
}

impl Preset {
    /// The preset of a site that was just made of these options.
    pub(crate) fn new(site: &Site, options: &Options) -> Self {
        let options = Options { serving: site.choice.clone(), ..options.clone() };
        Self { text: site.text.clone(), options }
    }

    /// The kind of its sites.
    pub(super) fn kind(&self) -> Kind {
        self.options.kind
    }

    /// Reads everything again that the options name: files of sites, folders, sockets. Returns the warnings, too.
    ///
    /// # Errors
    /// As at the start.
    pub(crate) fn renewed(&self) -> Result<(Self, Vec<String>), String> {
        let site = self.options.site()?;
        if let Some(certificate) = &site.self_signed {
            certificate.make().map_err(|error| format!("wordpress: --self-signed: {error}"))?;
        }
        Ok((Self { text: site.text, ..self.clone() }, site.warnings))
    }
}
