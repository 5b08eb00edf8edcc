//! The environment that the configuration writes (`fastcgi_param` and its like).

use std::sync::Arc;

use crate::OriginCompiler;
use crate::param::Param;
use myriad_conf::settings::OriginSettings;
use myriad_http::Known;
use myriad_script::Template;

use super::pairs::push_name;

/// The parameters of a place, in order.
pub(crate) struct CgiPlace {
    /// The parameters; the same name may stand there more than once. Places that tell the same share them, as servers do that
    /// include one file of parameters.
    pub params: Arc<Box<[Param]>>,
}

impl CgiPlace {
    /// The parameters that the settings name.
    pub(crate) fn compiled(compile: &mut dyn OriginCompiler, origin: &OriginSettings) -> Self {
        let params = origin.request.parameters.iter().map(|param| Param {
            name: param.name.bytes().into(),
            value: compile.apart_template(&param.value),
            if_not_empty: param.if_not_empty,
        });
        let params: Box<[Param]> = params.collect();
        Self { params: compile.shared().alike(params) }
    }

    /// Whether a parameter of that name is written.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.params.iter().any(|param| *param.name == *name)
    }

    /// The files that the origin is told to run.
    pub(crate) fn scripts(&self) -> Vec<&Template> {
        let named = self.params.iter().filter(|param| *param.name == *b"SCRIPT_FILENAME");
        named.map(|param| &param.value).collect()
    }

    /// Whether a parameter stands in the place of the client's field.
    pub(crate) fn replaces(&self, field: Known) -> bool {
        let mut name = b"HTTP_".to_vec();
        push_name(field.as_str().as_bytes(), &mut name);
        self.has(&name)
    }
}
