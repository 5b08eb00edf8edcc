//! Both formats of a metrics page.
//!
//! The formats differ only in the family name of counters in `HELP` and `TYPE`, and in the final line of OpenMetrics.
//! The lines of a family are consecutive and label values are escaped. The caller must write each series only once.

use std::fmt::{Display, Write};

use myriad_exchange::traffic::TimeHistogram;

/// Upper bounds of histogram buckets, in microseconds. Each has at most two significant digits, so that
/// [`TimeHistogram::within`] is exact.
const BOUNDS_US: [u64; 18] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 30_000_000,
];

/// Format of a metrics page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsFormat {
    /// Prometheus text format, version 0.0.4.
    Prometheus,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl MetricsFormat {
    pub(super) fn media_type(self) -> &'static [u8] {
        match self {
            Self::Prometheus => b"text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => b"application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Metrics page being written.
pub(super) struct MetricsPage {
    text: String,
    form: MetricsFormat,
}

/// Family of metrics (name with its `HELP` and `TYPE`). Its lines must be written before the next family starts.
pub(super) struct MetricFamily<'a> {
    page: &'a mut MetricsPage,
    name: &'static str,
}

/// Name and unescaped value of a label.
pub(super) type MetricLabel<'a> = (&'static str, &'a str);

impl MetricsPage {
    pub(super) fn new(form: MetricsFormat) -> Self {
        Self { text: String::with_capacity(64 * 1024), form }
    }

    /// Starts a family of counters. `name` must have the suffix `_total`.
    pub(super) fn counter(&mut self, name: &'static str, help: &str) -> MetricFamily<'_> {
        debug_assert!(name.ends_with("_total"), "{name}");
        let family = match self.form {
            MetricsFormat::OpenMetrics => name.trim_end_matches("_total"),
            MetricsFormat::Prometheus => name,
        };
        self.head(family, "counter", help);
        MetricFamily { page: self, name }
    }

    /// Starts a family of gauges.
    pub(super) fn gauge(&mut self, name: &'static str, help: &str) -> MetricFamily<'_> {
        self.head(name, "gauge", help);
        MetricFamily { page: self, name }
    }

    /// Starts a family of histograms with values in seconds.
    pub(super) fn histogram(&mut self, name: &'static str, help: &str) -> MetricFamily<'_> {
        self.head(name, "histogram", help);
        MetricFamily { page: self, name }
    }

    fn head(&mut self, family: &str, kind: &str, help: &str) {
        self.push(format_args!("# HELP myriad_{family} {help}\n# TYPE myriad_{family} {kind}\n"));
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }

    /// Returns the text of the page; in OpenMetrics with the final line `# EOF`.
    pub(super) fn end(mut self) -> String {
        if self.form == MetricsFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

impl MetricFamily<'_> {
    /// Appends a line of this family with a value.
    pub(super) fn line(&mut self, labels: &[MetricLabel<'_>], value: impl Display) -> &mut Self {
        self.series("", labels, None, value);
        self
    }

    /// Appends a line of this family with a duration, given in microseconds and written in seconds.
    pub(super) fn seconds(&mut self, labels: &[MetricLabel<'_>], us: u64) -> &mut Self {
        self.line(labels, SecondsValue(us))
    }

    /// Appends the buckets, the sum and the count of a histogram.
    pub(super) fn times(&mut self, labels: &[MetricLabel<'_>], times: &TimeHistogram) {
        for bound in BOUNDS_US {
            self.series("_bucket", labels, Some(&SecondsValue(bound)), times.within(bound));
        }
        self.series("_bucket", labels, Some(&"+Inf"), times.count());
        self.series("_sum", labels, None, SecondsValue(times.sum_us()));
        self.series("_count", labels, None, times.count());
    }

    fn series(
        &mut self,
        end: &str,
        labels: &[MetricLabel<'_>],
        bound: Option<&dyn Display>,
        value: impl Display,
    ) {
        let text = &mut self.page.text;
        text.push_str("myriad_");
        text.push_str(self.name);
        text.push_str(end);
        let mut before = '{';
        for (name, value) in labels {
            text.push(before);
            before = ',';
            text.push_str(name);
            text.push_str("=\"");
            escape(value, text);
            text.push('"');
        }
        // Writing to a string cannot fail.
        if let Some(bound) = bound {
            let _ = write!(text, "{before}le=\"{bound}\"");
            before = ',';
        }
        if before == ',' {
            text.push('}');
        }
        let _ = writeln!(text, " {value}");
    }
}

/// Duration in microseconds, displayed as seconds with a fraction.
struct SecondsValue(u64);

impl Display for SecondsValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, fraction) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let digits = format!("{fraction:06}");
        let digits = digits.trim_end_matches('0');
        write!(f, "{seconds}.{}", if digits.is_empty() { "0" } else { digits })
    }
}

fn escape(value: &str, out: &mut String) {
    for letter in value.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(form: MetricsFormat) -> String {
        let mut page = MetricsPage::new(form);
        page.counter("requests_total", "Requests").line(&[], 7).line(&[("zone", "a\"b\\c\nd")], 8);
        page.gauge("up", "Whether it is").line(&[("a", "1"), ("b", "2")], 1);
        page.counter("busy_seconds_total", "Time").seconds(&[], 1_500_000);
        page.end()
    }

    #[test]
    fn forms_differ_in_the_heads_of_counters_and_in_the_end() {
        let lines = "myriad_requests_total 7\nmyriad_requests_total{zone=\"a\\\"b\\\\c\\nd\"} 8\n\
             # HELP myriad_up Whether it is\n# TYPE myriad_up gauge\nmyriad_up{a=\"1\",b=\"2\"} 1\n";
        let prometheus = "# HELP myriad_requests_total Requests\n# TYPE myriad_requests_total counter\n";
        let busy = "# HELP myriad_busy_seconds_total Time\n# TYPE myriad_busy_seconds_total counter\n\
             myriad_busy_seconds_total 1.5\n";
        assert_eq!(page(MetricsFormat::Prometheus), format!("{prometheus}{lines}{busy}"));
        let open = "# HELP myriad_requests Requests\n# TYPE myriad_requests counter\n";
        let busy = "# HELP myriad_busy_seconds Time\n# TYPE myriad_busy_seconds counter\n\
             myriad_busy_seconds_total 1.5\n# EOF\n";
        assert_eq!(page(MetricsFormat::OpenMetrics), format!("{open}{lines}{busy}"));
    }

    #[test]
    fn seconds_are_written_whole() {
        for (us, expected) in [
            (0, "0.0"),
            (50, "0.00005"),
            (250_000, "0.25"),
            (1_000_000, "1.0"),
            (1_500_000, "1.5"),
            (30_000_001, "30.000001"),
        ] {
            assert_eq!(SecondsValue(us).to_string(), expected);
        }
    }

    #[test]
    fn bounds_of_histograms_are_numbers_of_two_digits() {
        for bound in BOUNDS_US {
            assert!(bound.to_string().trim_end_matches('0').len() <= 2, "{bound}");
        }
    }
}
