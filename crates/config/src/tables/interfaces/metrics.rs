//! `[metrics]`: access to `/metrics`, and the exporters it is compatible with.

use bergamot_rpc::metrics::{Compat, MetricsAccess, MetricsSettings};

use crate::catalogue::{Fallback, Key, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static METRICS: Table = Table {
    name: "metrics",
    repeated: false,
    about: "The metrics at `/metrics` on the control port, for Prometheus and compatible programs; see \
            docs/metrics.md.",
    keys: &[
        Key {
            name: "access",
            kind: Kind::Choice(&["login", "open", "off"]),
            default: Fallback::Is("\"login\""),
            about: "Which clients may read them: those that may see the queue, all that reach the port, or \
                    none.",
        },
        Key {
            name: "compat",
            kind: Kind::Texts("a list of \"nzbget\" and \"sabnzbd\""),
            default: Fallback::Is("[\"nzbget\"]"),
            about: "Exporters whose metric names are added to our own, for existing dashboards.",
        },
    ],
};

pub(crate) fn read(mut fields: Fields<'_, '_>) -> MetricsSettings {
    let access = fields.choice(
        "access",
        &[
            ("login", MetricsAccess::Login),
            ("off", MetricsAccess::Off),
            ("open", MetricsAccess::Open),
        ],
    );
    let mut compat = Vec::new();
    for (at, name) in fields.texts("compat") {
        match name.as_str() {
            "nzbget" => compat.push(Compat::Nzbget),
            "sabnzbd" => compat.push(Compat::Sabnzbd),
            _ => fields.unfit_at(at, "compat", "it is neither \"nzbget\" nor \"sabnzbd\""),
        }
    }
    MetricsSettings { access, compat }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{config, problems};

    #[test]
    fn names_of_one_exporter_are_there_unless_told_otherwise() {
        assert_eq!(config("").metrics, MetricsSettings::default());
        let metrics = config("[metrics]\naccess = 'open'\ncompat = ['sabnzbd']").metrics;
        assert_eq!((metrics.access, metrics.compat), (MetricsAccess::Open, vec![Compat::Sabnzbd]));
        assert!(problems("[metrics]\ncompat = ['x']")[0].contains("metrics.compat"));
    }
}
