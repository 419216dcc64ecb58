//! What is told to those who measure.

use bergamot_rpc::metrics::{Compat, MetricsAccess, MetricsSettings};

use crate::reading::fields::Fields;

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
