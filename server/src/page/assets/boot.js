// Deletes the boot that is shown, once the user has confirmed it.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const ask = byId("delete");
  if (!ask) return;
  const [question, result, powerOff] = ["delete-question", "deleted", "power-off"].map(byId);

  const say = (text, tone) => {
    result.className = tone;
    result.textContent = text;
  };

  const remove = async () => {
    say("Deleting", "");
    ask.disabled = true;
    try {
      const answer = await fetch(`${ask.dataset.boot}?power_off=${powerOff.checked}`, { method: "DELETE" });
      if (answer.status === 204) location.assign("/");
      else if (answer.ok) say("dayone is restoring the BMC. The step “ejected” shows when that is done.", "good");
      else say((await answer.json()).detail, "bad");
    } catch (error) {
      say(`The server does not answer: ${error.message}`, "bad");
    } finally {
      ask.disabled = false;
      // A control that is disabled loses the focus.
      if (document.activeElement === document.body) ask.focus();
    }
  };

  ask.hidden = false;
  ask.addEventListener("click", () => {
    question.returnValue = "";
    question.showModal();
  });
  question.addEventListener("close", () => question.returnValue === "delete" && remove());
})();
