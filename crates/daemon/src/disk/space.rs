//! Surveys of the volumes: a task beside the main loop asks for their free space, for a share may hang.

use bergamot_jobs::admission::Survey;
use bergamot_jobs::machine::SurveyRequest;

use crate::disk::disk_info::Places;
use crate::event::{Happening, Outbox};
use crate::service_thread::vital_task;

/// Answered by `Surveyed`.
pub(crate) fn begin_survey(places: Places, outbox: &Outbox, request: SurveyRequest) {
    let answer = outbox.clone();
    vital_task("survey", outbox, async move {
        let survey = survey_volumes(&places, request).await;
        answer.tell(Happening::Surveyed(Box::new(survey)));
    });
}

async fn survey_volumes(places: &Places, request: SurveyRequest) -> Survey {
    let SurveyRequest { incomplete, directories, begun } = request;
    let looks: Vec<_> = directories
        .into_iter()
        .map(|path| {
            let places = places.clone();
            tokio::spawn(async move {
                let seen = places.seen(&path).await;
                (path, seen)
            })
        })
        .collect();
    let mut volumes = Vec::new();
    for look in looks {
        volumes.extend(look.await);
    }
    Survey { volumes, begun: places.measured(&incomplete, begun).await }
}
