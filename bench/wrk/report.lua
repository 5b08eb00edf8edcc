-- Prints the results of wrk as one line of JSON, the last line of the output.
function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      '{"requests":%d,"seconds":%.6f,"bytes":%d,"status_errors":%d,"socket_errors":%d,"p50_us":%d,"p99_us":%d}\n',
      summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
      errors.connect + errors.read + errors.write + errors.timeout,
      latency:percentile(50), latency:percentile(99)))
end
