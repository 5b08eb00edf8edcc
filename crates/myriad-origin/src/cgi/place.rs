//! Configured CGI environment (`fastcgi_param` and similar directives).

use std::sync::Arc;

use crate::OriginCompiler;
use crate::param::Param;
use myriad_conf::settings::OriginSettings;
use myriad_http::Known;
use myriad_script::Template;

use super::pairs::push_name;

/// CGI environment parameters of a location (such as `fastcgi_param`), in configuration order.
pub(crate) struct CgiPlace {
    /// Parameters; a name may occur several times. Locations with equal parameters share the memory, for instance if
    /// several servers include the same file.
    pub params: Arc<Box<[Param]>>,
}

impl CgiPlace {
    /// Compiles the environment parameters in the settings of a location.
    pub(crate) fn compiled(compile: &mut dyn OriginCompiler, origin: &OriginSettings) -> Self {
        let params = origin.request.parameters.iter().map(|param| Param {
            name: param.name.bytes().into(),
            value: compile.origin_template(&param.value),
            if_not_empty: param.if_not_empty,
        });
        let params: Box<[Param]> = params.collect();
        Self { params: compile.shared().deduplicate(params) }
    }

    /// Returns whether a parameter with the given name is configured.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.params.iter().any(|param| *param.name == *name)
    }

    /// Returns the values of the `SCRIPT_FILENAME` parameters: the files that the origin executes.
    pub(crate) fn scripts(&self) -> Vec<&Template> {
        let named = self.params.iter().filter(|param| *param.name == *b"SCRIPT_FILENAME");
        named.map(|param| &param.value).collect()
    }

    /// Returns whether a configured parameter `HTTP_*` replaces this header field of the client.
    pub(crate) fn replaces(&self, field: Known) -> bool {
        let mut name = b"HTTP_".to_vec();
        push_name(field.as_str().as_bytes(), &mut name);
        self.has(&name)
    }
}
