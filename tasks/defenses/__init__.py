"""Defences: subjects trained against attacks (Xu et al. 2020, section 4.5), and what that gains and costs.

In go training samples and a subject; out come the files of a defended model, and the findings `defense.*` that hold it
against the original. Begin with `settings`, which says what can be asked, and `adversarial_training`, which is what is
done with a batch; `table` lists the defences, `comparison` holds models against each other. Texts have `text_task`,
certificates `smoothing_task`.
"""
