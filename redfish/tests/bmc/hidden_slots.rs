//! What a survey says about slots that a BMC does not show.

use crate::boots::{SLOT, SLOTS, connected, refusal, start};

#[tokio::test]
async fn a_survey_names_slots_that_may_be_there_although_the_bmc_does_not_show_them() {
    for (path, status, is_hidden) in [
        (SLOT, 403, true),
        (SLOT, 500, true),
        (SLOT, 404, false),
        (SLOTS, 403, true),
        (SLOTS, 500, true),
        (SLOTS, 404, false),
    ] {
        let bmc = start().await;
        bmc.only("GET", path, refusal(status, "Base.1.8.GeneralError", &[]));
        let survey = connected(&bmc).await.survey().await.unwrap();
        let beginning = format!("{path} cannot be read");
        let is_named = |sentences: &[String]| sentences.iter().any(|sentence| sentence.starts_with(&beginning));
        assert!(is_named(&survey.notes), "{path} {status}: {survey:?}");
        assert_eq!(is_named(&survey.hidden_slots), is_hidden, "{path} {status}: {survey:?}");
    }
}
