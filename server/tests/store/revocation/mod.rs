//! Deleting an image, and the end of its time, in every order with the small steps of clients that read it: the real store behind the
//! real media plane, without sockets.
//!
//! The contract: once a deletion is acknowledged, no answer with bytes of the image begins. An answer that has begun goes on to its end.
//! Whatever happens, a client gets the bytes of the image that it asked for, and of no other.
//!
//! The base is at a path that the kernel cannot resolve from its cache alone, as on a network file system. So each request waits for
//! the file system between finding the image and beginning its answer, and the other steps come in between.

mod scene;

use self::scene::Scene;
use crate::support::Place;

/// What is done at once, and nothing comes in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Client `0` sends the request for its image: `0` or `1`.
    Ask(usize),
    /// The client gets the head of its answer.
    Answer(usize),
    /// The client gets the next piece.
    Piece(usize),
    /// Somebody deletes image 0, and this is acknowledged.
    Delete,
    /// Somebody orders image 0 again.
    Publish,
    /// The time of image 0 ends.
    End,
}

const READ: [fn(usize) -> Step; 4] = [Step::Ask, Step::Answer, Step::Piece, Step::Piece];

/// All orders of steps in which those of one actor keep theirs.
fn orders(actors: &[Vec<Step>]) -> Vec<Vec<Step>> {
    if actors.iter().all(Vec::is_empty) {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (number, actor) in actors.iter().enumerate().filter(|(_, actor)| !actor.is_empty()) {
        let mut rest = actors.to_vec();
        rest[number].remove(0);
        all.extend(orders(&rest).into_iter().map(|order| [vec![actor[0]], order].concat()));
    }
    all
}

fn reads(client: usize) -> Vec<Step> {
    READ.iter().map(|step| step(client)).collect()
}

#[tokio::test]
async fn after_a_deletion_is_acknowledged_no_answer_begins_in_any_order() {
    let scene = Scene::new(false, Place::new());
    let all = orders(&[reads(0), reads(1), vec![Step::Delete]]);
    assert_eq!(all.len(), 630);
    scene.explore(&all).await;
    scene.explore(&orders(&[reads(0), vec![Step::Delete, Step::Publish, Step::Delete]])).await;
    scene.explore(&orders(&[reads(0), vec![Step::Delete], vec![Step::Publish]])).await;
}

#[tokio::test]
async fn after_the_time_of_an_image_no_answer_begins_in_any_order() {
    let scene = Scene::new(true, Place::new());
    scene.explore(&orders(&[reads(0), reads(1), vec![Step::End]])).await;
    scene.explore(&orders(&[reads(0), vec![Step::End, Step::Publish], vec![Step::Delete]])).await;
}

#[tokio::test]
async fn the_same_holds_for_an_encrypted_data_directory() {
    let key = "1".repeat(64);
    let scene = Scene::new(true, Place::new().with_keys(&[&key]));
    scene.explore(&orders(&[reads(0), reads(1), vec![Step::Delete]])).await;
    scene.explore(&orders(&[reads(0), vec![Step::End, Step::Publish], vec![Step::Delete]])).await;
}
