"use strict";
for (const button of document.querySelectorAll(".about button")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const source = button.parentNode.querySelector("pre");
    const done = () => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    };
    const select = () => {
      button.parentNode.querySelector("details").open = true;
      getSelection().selectAllChildren(source);
      if (document.execCommand("copy")) done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(source.textContent).then(done, select);
    else select();
  });
}
