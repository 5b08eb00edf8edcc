//! Data of the request that SSI commands read.

use std::fmt;

use myriad_log::LogLevel;
use myriad_script::search_once;
use myriad_script::ssi::{PageEnvironment, PatternGroups};

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::RowValue;

/// Adapter that provides an exchange to SSI commands.
pub(super) struct ExchangeEnvironment<'a>(pub(super) &'a mut Exchange);

impl PageEnvironment for ExchangeEnvironment<'_> {
    fn variable(&mut self, name: &[u8], time_format: &[u8]) -> Option<Vec<u8>> {
        let name = std::str::from_utf8(name).ok()?;
        let Exchange { request, frame } = &mut *self.0;
        let mut value = Vec::new();
        let site = std::rc::Rc::clone(&request.site);
        let own = site.runtime.names.as_ref().and_then(|names| names.get(name));
        if let Some(variable) = own {
            match variable.read(request, frame, &mut value) {
                Ok(true) => return Some(value),
                Ok(false) => {}
                Err(error) => {
                    request.log(LogLevel::Error, format_args!("{error}"));
                    return None;
                }
            }
        }
        let variable = site.runtime.variable_registry.named(name)?;
        if let RowValue::Dated(write) = variable.row.value {
            write(time_format, &mut value);
            return Some(value);
        }
        match variable.append(request, frame, &mut value) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => {
                request.log(LogLevel::Error, format_args!("{error}"));
                return None;
            }
        }
        Some(value)
    }

    fn search(&mut self, pattern: &[u8], subject: &[u8]) -> Result<Option<PatternGroups>, String> {
        let pattern = std::str::from_utf8(pattern).map_err(|_| "the pattern is not UTF-8".to_owned())?;
        let found = search_once(pattern, subject).map_err(|error| error.to_string())?;
        Ok(found.map(|found| PatternGroups { numbered: found.numbered, named: found.named }))
    }

    fn uri(&self) -> &[u8] {
        &self.0.request.route.uri
    }

    fn log(&mut self, message: fmt::Arguments<'_>) {
        self.0.request.log(LogLevel::Error, message);
    }
}
