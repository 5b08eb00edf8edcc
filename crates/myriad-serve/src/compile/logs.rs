//! Compilation of `error_log` and `access_log`.

use myriad_conf::settings::{self, OpenLogFileCache};
use myriad_log::{AccessLog, ErrorLog, LogBuffering, LogTarget};

use myriad_script::EvaluationScope;

use super::RuntimeCompiler;

impl RuntimeCompiler<'_> {
    /// Returns the error log of a level: the logs in `own`, or if `own` is empty, those of the main level.
    pub(super) fn error_log(&self, own: &[settings::ErrorLog]) -> ErrorLog {
        let targets = if own.is_empty() { &self.model.main.error_logs[..] } else { own };
        self.environment.logs.error_log(targets, self.environment.prefix)
    }

    pub(super) fn access_log(
        &mut self,
        log: &settings::AccessLog,
        open: Option<OpenLogFileCache>,
    ) -> Option<AccessLog> {
        let format = self.formats.iter().position(|format| format.name == log.format)?;
        self.scripts.include(EvaluationScope::Shared(format as u32));
        let target = if let Some(syslog) = &log.syslog {
            LogTarget::Syslog(self.environment.logs.syslog(syslog)?)
        } else if log.path.has_variables() {
            LogTarget::Variable(self.template(&log.path), open)
        } else {
            let path = self.absolute_path(&log.path);
            LogTarget::File {
                file: self.environment.logs.file(&path)?,
                buffer: log.buffer.map(|bytes| LogBuffering {
                    size: bytes as usize,
                    flush_ms: log.flush,
                    gzip: log.gzip,
                }),
            }
        };
        let condition = log.condition.as_ref().map(|condition| {
            let template = self.template(condition);
            myriad_script::Predicates::new(vec![template])
        });
        Some(AccessLog { format, target, condition, sample: log.sample })
    }
}
