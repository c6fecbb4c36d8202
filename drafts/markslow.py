import re
L="""experiments/test_erasing.py::test_tied_1_measured_again_from_the_weights_that_ship
live/test_block_stack.py::test_films_have_the_moments_means_for_many_components
live/test_arrow_film.py::test_films_follow_the_law_and_the_arrow
live/test_graph_lab.py::test_its_numbers_by_hand
course/test_joining.py::test_fragments_are_drawn_with_their_chances
course/test_chains.py::test_a_long_chain_does_not_underflow
experiments/test_driven_causes.py::test_held_weights_leave_nothing_but_the_noise
tools/test_make_pdf.py::test_a_page_that_is_not_built
experiments/test_driven_specimens.py::test_noise_shortens_the_mean_as_its_variance_says
hopfield/test_associative.py::test_nothing_overflows
experiments/test_examinations.py::test_silent_heads_measured_again_from_the_weights_that_ship
experiments/test_arrow_of_time.py::test_parts_of_the_record_are_measured_again
live/test_two_films.py::test_films_that_differ_forget_as_the_damage_equation_says
kinetic/test_closures.py::test_a_small_drive_in_single_precision_is_not_taken_for_none
message_passing/test_belief_points.py::test_two_passes_differentiate_twice
transformer/test_noise.py::test_the_growth_of_a_linear_map_is_that_of_its_powers
transformer/test_norms.py::test_an_examination_has_them
live/test_ball_and_bound.py::test_the_descent_lemma
free_energy/test_free_energy_parts.py::test_it_is_the_saddle_point_where_all_sites_are_equivalent_and_not_in_random_couplings
message_passing/test_belief_points.py::test_stability_is_one_minus_the_radius_of_a_sweep
message_passing/test_beliefs.py::test_what_does_not_settle_is_reported
experiments/test_associative_capacity.py::test_a_small_version_runs
live/test_mapper.py::test_the_challenge_is_solved_where_u_is_one_and_nowhere_else
course/test_translation_data.py::test_predicates_have_no_ending
live/test_arrow_film.py::test_no_arrow_without_the_antisymmetric_part_and_one_by_a_mask_alone
course/test_recorded.py::test_the_error_over_runs_covers_what_groups_share""".split()
for l in L:
    f,t=l.split('::'); p='tests/'+f; s=open(p).read()
    m=re.search(rf'^((?:@[^\n]*\n|(?:    [^\n]*\n|\)\n))*)def {t}\(',s,re.M)
    m=re.search(rf'^def {t}\(',s,re.M)
    assert m,l
    if not re.search(r'^import pytest',s,re.M): print('no pytest',l); continue
    s=s[:m.start()]+"@pytest.mark.slow\n"+s[m.start():]
    open(p,'w').write(s)
