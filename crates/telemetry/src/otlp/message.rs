//! Metrics as an OTLP message: values cumulative since the start of the program.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    metrics::v1::{
        AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
        ResourceMetrics, ScopeMetrics, Sum, metric::Data, number_data_point,
    },
    resource::v1::Resource as ResourceMessage,
};
use opentelemetry_sdk::Resource;
use prost::Message;

use super::text::{FamilyText, Sample};

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// Interval of cumulative values: their start and the time of the message, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
struct Interval {
    started: u64,
    now: u64,
}

/// Encodes an export request with `families`.
pub(super) fn request(
    families: &[FamilyText],
    resource: &Resource,
    started: u64,
    now: u64,
) -> Vec<u8> {
    let span = Interval { started, now };
    let attributes =
        resource.iter().map(|(name, value)| attribute(name.as_str(), &value.to_string())).collect();
    let scope = InstrumentationScope { name: "assay".into(), ..InstrumentationScope::default() };
    let metrics = families.iter().filter_map(|family| metric(family, span)).collect();
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(ResourceMessage { attributes, ..ResourceMessage::default() }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics,
                schema_url: String::new(),
            }],
            schema_url: String::new(),
        }],
    }
    .encode_to_vec()
}

/// Converts a metric family; `None` for an unknown kind.
fn metric(family: &FamilyText, span: Interval) -> Option<Metric> {
    let data = match family.kind.as_str() {
        "counter" => Data::Sum(Sum {
            data_points: numbers(family, span),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        "gauge" | "info" => Data::Gauge(Gauge { data_points: numbers(family, span) }),
        "histogram" => Data::Histogram(Histogram {
            data_points: histograms(family, span),
            aggregation_temporality: CUMULATIVE,
        }),
        _ => return None,
    };
    let unit = if family.name.ends_with("_seconds") { "s" } else { "" };
    Some(Metric {
        name: family.name.clone(),
        description: family.help.clone(),
        unit: unit.into(),
        data: Some(data),
        ..Metric::default()
    })
}

fn numbers(family: &FamilyText, span: Interval) -> Vec<NumberDataPoint> {
    let points = family.samples.iter().map(|sample| NumberDataPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: span.started,
        time_unix_nano: span.now,
        value: Some(number_data_point::Value::AsDouble(sample.value)),
        ..NumberDataPoint::default()
    });
    points.collect()
}

/// Groups a histogram's lines by their labels. Buckets are cumulative in the text, but not in a
/// message.
fn histograms(family: &FamilyText, span: Interval) -> Vec<HistogramDataPoint> {
    let mut points: BTreeMap<Vec<(String, String)>, HistogramDataPoint> = BTreeMap::new();
    for Sample { suffix, labels, value } in &family.samples {
        let mut own = labels.clone();
        own.retain(|(name, _)| name != "le");
        let point = points.entry(own).or_insert_with_key(|own| HistogramDataPoint {
            attributes: attributes(own),
            start_time_unix_nano: span.started,
            time_unix_nano: span.now,
            ..HistogramDataPoint::default()
        });
        match suffix.as_str() {
            "_sum" => point.sum = Some(*value),
            "_count" => point.count = whole(*value),
            "_bucket" => {
                let below: u64 = point.bucket_counts.iter().sum();
                point.bucket_counts.push(whole(*value).saturating_sub(below));
                let bound = labels.iter().find(|(name, _)| name == "le");
                let bound = bound.and_then(|(_, bound)| bound.parse::<f64>().ok());
                point.explicit_bounds.extend(bound.filter(|bound| bound.is_finite()));
            }
            _ => {}
        }
    }
    points.into_values().collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are printed as whole numbers and are never negative"
)]
const fn whole(value: f64) -> u64 {
    value as u64
}

fn attributes(labels: &[(String, String)]) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::text::families;

    #[test]
    fn buckets_of_a_message_are_not_cumulative() {
        let text = "# HELP t_seconds Time.\n# TYPE t_seconds histogram\n\
                    t_seconds_sum{route=\"/a\"} 1.5\nt_seconds_count{route=\"/a\"} 4\n\
                    t_seconds_bucket{le=\"0.1\",route=\"/a\"} 1\n\
                    t_seconds_bucket{le=\"0.3\",route=\"/a\"} 3\n\
                    t_seconds_bucket{le=\"+Inf\",route=\"/a\"} 4\n# EOF\n";
        let metric = metric(&families(text)[0], Interval { started: 1, now: 2 }).unwrap();
        assert_eq!(metric.unit, "s");
        let Some(Data::Histogram(histogram)) = metric.data else { panic!("not a histogram") };
        let [point] = histogram.data_points.as_slice() else { panic!("not one") };
        assert_eq!((point.count, point.sum), (4, Some(1.5)));
        assert_eq!(point.explicit_bounds, [0.1, 0.3]);
        assert_eq!(point.bucket_counts, [1, 2, 1]);
        assert_eq!(point.attributes.len(), 1, "the bound is not an attribute");
    }
}
