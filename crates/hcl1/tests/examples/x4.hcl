working_dir = "{{ env \"HOME\" }}/cts"
